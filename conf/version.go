package conf

// Version is that of the programs, which are released together.
const Version = "0.1.0"
