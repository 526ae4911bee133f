package keyturn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	keyturn "github.com/keyturn/keyturn/clients/go"
	"github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func TestASidecarThatStandsAloneSaysThatItHasNoCluster(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client := dial(t, sharedSidecar(t).address)
	_, err := client.Admin().GetCluster(ctx, &keyturnv1.GetClusterRequest{})
	var told *keyturn.Error
	if !errors.As(keyturn.ErrorFrom(err), &told) || told.Code != codes.FailedPrecondition || told.Reason != "NO_CLUSTER" {
		t.Fatalf("%v", err)
	}
}

func TestASidecarOfAClusterTellsItsMembersAndTheHomeOfEachPartition(t *testing.T) {
	t.Parallel()
	store := startRedis(t)
	alone := startSidecar(t, "store: "+store+"\ncluster: { name: told, partitions: 4 }\n")
	client := dial(t, alone.address)
	ctx := within(t, 60*time.Second)
	for {
		told, err := client.Admin().GetCluster(ctx, &keyturnv1.GetClusterRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if told.GetName() != "told" || told.GetPartitions() != 4 || told.GetStore() != store || told.GetFormat() < 1 {
			t.Fatalf("%v", told)
		}
		open := 0
		for partition, home := range told.GetHomes() {
			if int(home.GetPartition()) != partition {
				t.Fatalf("home %d is of partition %d", partition, home.GetPartition())
			}
			if home.GetState() == "open" {
				open++
			}
		}
		members := told.GetMembers()
		if len(members) > 1 {
			t.Fatalf("%v", members)
		}
		// It listens before all of them are open, and others are told where within a look.
		if open < 4 || len(members) < 1 || members[0].GetPartitions() < 4 {
			continue
		}
		if members[0].GetAddress() != alone.address || members[0].GetState() != "live" {
			t.Fatalf("%v", members)
		}
		if len(told.GetUnavailable()) != 0 || told.GetHomes()[3].GetMember() != members[0].GetId() {
			t.Fatalf("%v", told)
		}
		return
	}
}
