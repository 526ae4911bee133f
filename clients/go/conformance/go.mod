module github.com/keyturn/keyturn/clients/go/conformance

go 1.22.0

require (
	github.com/keyturn/keyturn/clients/go v0.1.0
	github.com/redis/go-redis/v9 v9.14.0
	golang.org/x/mod v0.20.0
	google.golang.org/protobuf v1.36.6
)

require (
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dgryski/go-rendezvous v0.0.0-20200823014737-9f7001d12a5f // indirect
	golang.org/x/net v0.34.0 // indirect
	golang.org/x/sys v0.29.0 // indirect
	golang.org/x/text v0.21.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250218202821-56aae31c358a // indirect
	google.golang.org/grpc v1.71.3 // indirect
)

replace github.com/keyturn/keyturn/clients/go => ../
