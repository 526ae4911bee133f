package keyturn

import (
	"context"

	"google.golang.org/grpc/codes"

	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// QueueInfo tells how one queue stands: how many wait in it, live turns, dead letters, its policy. The error is an [Error] with
// codes.NotFound when the sidecar knows no such queue: one that nobody configured is made by its first use, and forgotten when
// nothing of it is left.
func (c *Client) QueueInfo(ctx context.Context, queue string) (*pb.QueueInfo, error) {
	// A name may be part of many others: of these there may be more than one page.
	request := &pb.ListQueuesRequest{NameContains: queue, PageSize: 100}
	for {
		page, err := c.Admin().ListQueues(ctx, request)
		if err != nil {
			return nil, ErrorFrom(err)
		}
		for _, one := range page.GetQueues() {
			if one.GetName() == queue {
				return one, nil
			}
		}
		if page.GetNextPageToken() == "" {
			return nil, &Error{Code: codes.NotFound, Message: "no queue " + shown(queue) + " is known to the sidecar; it is made by its first use", Resource: queue}
		}
		request.PageToken = page.GetNextPageToken()
	}
}
