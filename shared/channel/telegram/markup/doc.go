// Package markup writes Markdown as Telegram's HTML, in parts that Telegram takes.
//
// It is a package of its own because its Markdown parser sets up large tables whenever a program starts, which a function
// that only takes updates should not wait for.
package markup
