package keyturn

// Version of this client; the same as that of the sidecar it was made with.
const Version = "0.1.0"
