package io.keyturn.client.internal.words;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keyturn.client.SubmitOutcome;
import io.keyturn.v1.Decision;
import io.keyturn.v1.SubmitResponse;
import io.keyturn.v1.SubmitResult;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the sidecar answers, as an application sees it. */
class AnswersTest {
    private static SubmitResult.Builder accepted(String itemId) {
        return SubmitResult.newBuilder().setItemId(itemId).setDecision(Decision.DECISION_ACCEPT);
    }

    @Test
    void aResultSaysWhatIsOnItsWay() {
        List<SubmitOutcome> told = Answers.submitted(SubmitResponse.newBuilder()
                .addResults(accepted("one"))
                .addResults(accepted("two").setOnItsWay(true))
                .build());
        assertTrue(told.stream().allMatch(SubmitOutcome::accepted));
        assertEquals(List.of(false, true), told.stream().map(SubmitOutcome::onItsWay).toList());
    }
}
