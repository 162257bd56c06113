package wire

// What an answer says in the model's place where it would leave its reader without a reason.
const (
	// Refused ends an answer that the provider's safety system ended, after what had been said until then.
	Refused = "(The model's provider ended this answer: its safety system objected.)"
	// Wordless stands for an answer that reached its largest length without a word.
	Wordless = "(The model ran out of tokens before it said anything.)"
)
