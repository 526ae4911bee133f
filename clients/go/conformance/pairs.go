package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/protobuf/types/known/durationpb"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// pairs are EnQueue and DeQueue, each key used by one of those in flight at a time.
func pairs(client *keyturn.Client, r *request) (fields, error) {
	ctx := context.Background()
	return counted(r, func(key string) (bool, error) {
		answer, err := client.EnQueue(ctx, &keyturnv1.EnQueueRequest{Queue: r.Queue, Key: key, Wait: durationpb.New(10 * time.Second)})
		if err != nil || answer.Decision != keyturnv1.Decision_DECISION_ACCEPT {
			return false, err
		}
		_, err = client.DeQueue(ctx, &keyturnv1.DeQueueRequest{Queue: r.Queue, Key: key, Holder: &keyturnv1.DeQueueRequest_Token{Token: answer.Turn.Token}})
		return err == nil, err
	})
}

var unlock = redis.NewScript(`if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end`)

// redisPairs are a lock of Redis, as its documentation shows it.
func redisPairs(r *request) (fields, error) {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: r.Address, PoolSize: r.InFlight})
	defer func() { _ = client.Close() }()
	return counted(r, func(key string) (bool, error) {
		var bits [16]byte
		if _, err := rand.Read(bits[:]); err != nil {
			return false, err
		}
		token := hex.EncodeToString(bits[:])
		locked, err := client.SetNX(ctx, key, token, 20*time.Second).Result()
		if err != nil || !locked {
			return false, err
		}
		return true, unlock.Run(ctx, client, []string{key}, token).Err()
	})
}

func counted(r *request, pair func(key string) (bool, error)) (fields, error) {
	if r.Keys < 1 || r.InFlight < 1 {
		return nil, fmt.Errorf("keys is %d, in_flight %d; allowed is 1 or more", r.Keys, r.InFlight)
	}
	until := time.Now().Add(time.Duration(r.Seconds * float64(time.Second)))
	var done atomic.Int64
	var failed atomic.Pointer[error]
	var running sync.WaitGroup
	for first := range r.InFlight {
		running.Add(1)
		go func() {
			defer running.Done()
			for n := first; time.Now().Before(until) && failed.Load() == nil; n += r.InFlight {
				ok, err := pair(fmt.Sprintf("key-%d", n%r.Keys))
				if err != nil {
					failed.CompareAndSwap(nil, &err)
				}
				if ok {
					done.Add(1)
				}
			}
		}()
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return nil, *err
	}
	return fields{"pairs": done.Load()}, nil
}
