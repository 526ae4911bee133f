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
