package keyturn_test

import (
	"context"
	"fmt"

	keyturn "github.com/keyturn/keyturn/clients/go"
)

func ExampleClient_Lead() {
	ctx, client := context.Background(), client()
	defer client.Close()
	offset, billed := "", make(chan struct{}, 1)
	bill := func(uint64, string) string {
		select {
		case billed <- struct{}{}:
		default:
		}
		return "17"
	}

	leadership, err := client.Lead(ctx, "billing", keyturn.LeaderCareer{
		Inaugurate: func(ctx context.Context, term *keyturn.Term) error {
			offset = string(term.Predecessor.State) // what the last leader left
			return nil
		},
		Execute: func(ctx context.Context, term *keyturn.Term) error {
			for ctx.Err() == nil { // ends when it has to hand over, and when the term is lost
				offset = bill(term.Number, offset) // give the term to what you write to
			}
			return nil
		},
		HandOver: func(context.Context, *keyturn.Term, keyturn.HandOverReason) ([]byte, error) {
			return []byte(offset), nil // to the next leader
		},
	}, keyturn.LeadOptions{})
	<-billed
	fmt.Println(err, leadership.Stop(ctx), offset)
	// Output: <nil> <nil> 17
}
