package provider

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Ollama is the provider's name for models of a local Ollama.
const Ollama = "ollama"

// probeLimit bounds the look for a local Ollama, which delays the start of a process without any settings.
const probeLimit = 300 * time.Millisecond

// Detect looks for a local Ollama and returns the choice of its most suitable chat model, such as ollama:qwen3:8b; ""
// if there is none within 300 ms.
func Detect(ctx context.Context, s Settings) string {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	names, err := s.ollamaModels(ctx)
	if err != nil { // not there is the usual case, and no error
		return ""
	}
	if name := suitable(names); name != "" {
		return Ollama + ":" + name
	}
	return ""
}

// ollamaURL is where Ollama listens unless it was told otherwise.
const ollamaURL = "http://127.0.0.1:11434"

// ollamaURL is the address of Ollama's own API, which its chat completions are below.
func (s Settings) ollamaURL() string {
	if s.URL == "" {
		return ollamaURL
	}
	return strings.TrimSuffix(strings.TrimRight(s.URL, "/"), "/v1")
}

func (s Settings) ollamaModels(ctx context.Context) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ollamaURL()+"/api/tags", nil)
	if err != nil {
		return nil, err
	}
	client := s.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&list); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Models))
	for _, m := range list.Models {
		names = append(names, m.Name)
	}
	return names, nil
}

// toolFamilies are model families that are known to call tools, the best first. Without tools an agent only chats.
var toolFamilies = []string{
	"qwen3", "gpt-oss", "glm", "mistral-small", "devstral", "llama4", "llama3.3", "llama3.1", "granite4", "qwen2.5",
	"llama3.2", "mistral-nemo", "mistral", "granite", "cogito", "command-r",
}

// suitable picks a chat model: the first of the best family that calls tools, else the first that is not made for
// embedding. Ollama lists what was changed last first.
func suitable(names []string) string {
	chat := make([]string, 0, len(names))
	for _, n := range names {
		if !embeds(n) {
			chat = append(chat, n)
		}
	}
	for _, family := range toolFamilies {
		for _, n := range chat {
			if strings.HasPrefix(baseName(n), family) {
				return n
			}
		}
	}
	if len(chat) == 0 {
		return ""
	}
	return chat[0]
}

// baseName is a model's name without its registry and owner.
func baseName(name string) string {
	return strings.ToLower(name[strings.LastIndex(name, "/")+1:])
}

// embeds reports whether a model is made for embedding or reranking, by its name.
func embeds(name string) bool {
	base := baseName(name)
	for _, mark := range []string{"embed", "minilm", "bge-", "rerank", "e5-"} {
		if strings.Contains(base, mark) {
			return true
		}
	}
	return false
}
