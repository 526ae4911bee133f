package io.keyturn.client.internal.lead;

import com.google.protobuf.ByteString;
import io.keyturn.client.FormerLeader;
import io.keyturn.client.HandOverCause;
import io.keyturn.client.TermLoss;
import io.keyturn.v1.Alive;
import io.keyturn.v1.HandOverReason;
import io.keyturn.v1.HandedOver;
import io.keyturn.v1.Inaugurated;
import io.keyturn.v1.LeadCommand;
import io.keyturn.v1.Predecessor;
import io.keyturn.v1.TermLossCause;
import io.keyturn.v1.Withdraw;
import io.keyturn.v1.Yield;

/** Words about leaders, to messages of the proto and back. */
final class Says {
    private Says() {}

    static LeadCommand.Builder alive(long term) {
        return LeadCommand.newBuilder().setAlive(Alive.newBuilder().setTerm(term));
    }

    static LeadCommand.Builder inaugurated(long term) {
        return LeadCommand.newBuilder().setInaugurated(Inaugurated.newBuilder().setTerm(term));
    }

    static LeadCommand.Builder yielded(long term, boolean failed) {
        return LeadCommand.newBuilder()
                .setYield(Yield.newBuilder().setTerm(term).setFailed(failed));
    }

    static LeadCommand.Builder handedOver(long term, byte[] state, boolean lost) {
        return LeadCommand.newBuilder()
                .setHandedOver(HandedOver.newBuilder()
                        .setTerm(term)
                        .setState(ByteString.copyFrom(state))
                        .setLost(lost));
    }

    static LeadCommand.Builder withdrawn() {
        return LeadCommand.newBuilder().setWithdraw(Withdraw.getDefaultInstance());
    }

    static FormerLeader predecessor(Predecessor told) {
        FormerLeader.Ended ended = switch (told.getHow()) {
            case SUCCESSION_HANDED_OVER -> FormerLeader.Ended.HANDED_OVER;
            case SUCCESSION_LOST -> FormerLeader.Ended.LOST;
            default -> FormerLeader.Ended.NONE;
        };
        return new FormerLeader(
                told.getCandidateId(), told.getTerm(), ended, told.getState().toByteArray());
    }

    static HandOverCause cause(HandOverReason told) {
        return switch (told) {
            case HAND_OVER_REASON_YIELD -> HandOverCause.YIELD;
            case HAND_OVER_REASON_DRAIN -> HandOverCause.DRAIN;
            default -> HandOverCause.OPERATOR;
        };
    }

    static TermLoss loss(TermLossCause told) {
        return switch (told) {
            case TERM_LOSS_CAUSE_TTL -> TermLoss.TTL;
            case TERM_LOSS_CAUSE_INAUGURATE_TIMEOUT -> TermLoss.INAUGURATE_TIMEOUT;
            case TERM_LOSS_CAUSE_HAND_OVER_TIMEOUT -> TermLoss.HAND_OVER_TIMEOUT;
            default -> TermLoss.UNKNOWN;
        };
    }

    static String why(TermLoss loss) {
        return switch (loss) {
            case TTL -> "the sidecar heard nothing for its ttl";
            case INAUGURATE_TIMEOUT -> "the inauguration took too long";
            case HAND_OVER_TIMEOUT -> "the hand-over took too long";
            case UNKNOWN -> "the sidecar does not know it, or another one lives";
            case UNREACHABLE -> "the sidecar confirmed nothing for its ttl less the margin";
            case CLOSED -> "the client was closed, or the time to stop was over";
        };
    }
}
