package conf

// Version is the version of all programs, which are released together.
const Version = "0.1.0"
