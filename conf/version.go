package conf

// Version is the version of all programs, which are released together.
const Version = "0.2.0"

// OpenSM is the OpenSM whose interface the manager has.
const OpenSM = "OpenSM 3.3.23"

// CacheDir is where OpenSM has its files without OSM_CACHE_DIR.
const CacheDir = "/var/cache/opensm"
