package keyturn

import (
	"testing"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

func TestSubmitResultSaysWhatIsOnItsWay(t *testing.T) {
	results, err := submitResults([]*pb.SubmitResult{
		{ItemId: "one", Decision: pb.Decision_DECISION_ACCEPT},
		{ItemId: "two", Decision: pb.Decision_DECISION_ACCEPT, OnItsWay: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	here, away := SubmitResult{ItemID: "one", Decision: DecisionAccept}, SubmitResult{ItemID: "two", Decision: DecisionAccept, OnItsWay: true}
	if results[0] != here || results[1] != away {
		t.Fatalf("%+v", results)
	}
}
