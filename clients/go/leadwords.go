package keyturn

import (
	pb "github.com/keyturn/keyturn/clients/go/keyturnv1"
)

// Words about leaders, to messages of the proto and back.

func aliveSaid(term uint64) *pb.LeadCommand {
	return &pb.LeadCommand{Command: &pb.LeadCommand_Alive{Alive: &pb.Alive{Term: term}}}
}

func inauguratedSaid(term uint64) *pb.LeadCommand {
	return &pb.LeadCommand{Command: &pb.LeadCommand_Inaugurated{Inaugurated: &pb.Inaugurated{Term: term}}}
}

func yielded(term uint64, failed bool) *pb.LeadCommand {
	return &pb.LeadCommand{Command: &pb.LeadCommand_Yield{Yield: &pb.Yield{Term: term, Failed: failed}}}
}

func farewellSaid(said *pb.HandedOver) *pb.LeadCommand {
	return &pb.LeadCommand{Command: &pb.LeadCommand_HandedOver{HandedOver: said}}
}

func withdrawn() *pb.LeadCommand {
	return &pb.LeadCommand{Command: &pb.LeadCommand_Withdraw{Withdraw: &pb.Withdraw{}}}
}

func predecessorOf(told *pb.Predecessor) Predecessor {
	how := SuccessionNone
	switch told.GetHow() {
	case pb.Succession_SUCCESSION_HANDED_OVER:
		how = SuccessionHandedOver
	case pb.Succession_SUCCESSION_LOST:
		how = SuccessionLost
	}
	return Predecessor{CandidateID: told.GetCandidateId(), Term: told.GetTerm(), How: how, State: told.GetState()}
}

func reasonOfHandOver(told pb.HandOverReason) HandOverReason {
	switch told {
	case pb.HandOverReason_HAND_OVER_REASON_YIELD:
		return HandOverYield
	case pb.HandOverReason_HAND_OVER_REASON_DRAIN:
		return HandOverDrain
	}
	return HandOverOperator
}

func termLossOf(told pb.TermLossCause) TermLoss {
	switch told {
	case pb.TermLossCause_TERM_LOSS_CAUSE_TTL:
		return TermLossTTL
	case pb.TermLossCause_TERM_LOSS_CAUSE_INAUGURATE_TIMEOUT:
		return TermLossInaugurateTimeout
	case pb.TermLossCause_TERM_LOSS_CAUSE_HAND_OVER_TIMEOUT:
		return TermLossHandOverTimeout
	}
	return TermLossUnknown
}
