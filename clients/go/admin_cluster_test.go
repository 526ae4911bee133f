package keyturn_test

import (
	"context"
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
	if told := keyturn.ErrorFrom(err); told == nil || told.Code != codes.FailedPrecondition || told.Reason != "NO_CLUSTER" {
		t.Fatalf("%v", err)
	}
}
