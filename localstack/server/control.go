package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/bobbin-agent/bobbin/localstack/pairing"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/local/bolt"
	"github.com/bobbin-agent/bobbin/shared/owner"
)

// control is how a command reaches the running server: an address and a token in a file that only its user can read.
type control struct {
	Address string `json:"address"`
	Token   string `json:"token"`

	file string
}

const (
	controlFile = "control.json"
	pairPath    = "/control/pair"
)

func openControl(data, address string) (control, error) {
	var token [32]byte
	_, _ = rand.Read(token[:]) // never fails: it ends the program instead
	c := control{Address: address, Token: hex.EncodeToString(token[:]), file: filepath.Join(data, controlFile)}
	body, err := json.Marshal(c)
	if err == nil {
		err = errors.Join(c.close(), os.WriteFile(c.file, body, 0o600))
	}
	if err != nil {
		return control{}, fmt.Errorf("writing the control file: %w: set BOBBIN_DATA to a folder that can be read and written", err)
	}
	return c, nil
}

func (c control) close() error {
	if err := os.Remove(c.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Codes are one-time pairing codes, each of which can be used for an hour.
type Codes struct {
	Codes []string `json:"codes"`
}

// Pair makes pairing codes in a data folder, by way of the server that is running on it if there is one.
func Pair(ctx context.Context, data string, p pairing.Order) ([]string, error) {
	store, err := openStore(data) //nolint:contextcheck // what it cleans up outlives the caller
	if errors.Is(err, bolt.ErrLocked) {
		return askServer(ctx, data, p)
	}
	if err != nil {
		return nil, err
	}
	ids := &id.Source{}
	codes, err := pairing.Make(ctx, &owner.Book{Table: store.Table(), IDs: ids}, p)
	return codes, errors.Join(err, store.Close())
}

// Pair makes pairing codes in this server's store.
func (s *Server) Pair(ctx context.Context, p pairing.Order) ([]string, error) {
	return pairing.Make(ctx, s.book, p)
}

func askServer(ctx context.Context, data string, p pairing.Order) ([]string, error) {
	body, err := os.ReadFile(filepath.Join(data, controlFile)) //nolint:gosec // the operator's own folder
	if err != nil {
		return nil, fmt.Errorf("the folder %s is in use, and not by a Bobbin that can be asked: %w: set BOBBIN_DATA to that of one, or stop what uses it", data, err)
	}
	var c control
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, fmt.Errorf("reading the control file: %w", err)
	}
	asked, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Address+pairPath, bytes.NewReader(asked))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the running Bobbin: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil || response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking the running Bobbin: %s: %s", response.Status, answer)
	}
	var codes Codes
	return codes.Codes, json.Unmarshal(answer, &codes)
}

// servePair answers askServer.
func (s *Server) servePair(w http.ResponseWriter, r *http.Request) {
	given := []byte(r.Header.Get("Authorization"))
	if subtle.ConstantTimeCompare(given, []byte("Bearer "+s.control.Token)) != 1 {
		http.Error(w, "the token of the control file is missing or wrong", http.StatusUnauthorized)
		return
	}
	var p pairing.Order
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&p); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	codes, err := s.Pair(r.Context(), p)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Codes{codes}) // the client went away
}
