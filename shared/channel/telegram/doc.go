// Package telegram is the Telegram channel: updates in through a webhook or long polling, replies out through the Bot API.
//
// Inwards: Decode reads an update without ever losing it to one odd field, Receiver says what it means and knocks at the
// Door, and Webhook and Poll are the two ways by which updates come. Only private chats are served; a text or a caption
// becomes a turn, the command /stop stops, an attachment that can't be read yet is answered honestly, the rest is ignored
// and counted.
//
// Outwards: Channel has package markup make parts of Markdown and sends them one by one through Client, at the rate
// that Pace allows, its errors classified for the worker that sends.
//
// The types are the package's own because the published libraries decode unions strictly and lose whole updates.
package telegram
