package emulator

// Tiny is a product that pip finds installed already, so that it needs nothing from outside.
func Tiny() Product { return Product{Name: "tiny", Version: "0", packages: "pip"} }
