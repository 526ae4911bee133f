package io.keyturn.client.internal.session;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.TlsSettings;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.util.Locale;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;

/**
 * Why no connection came about, in words that tell what to do. The transport has one status for all of it, and tells the cause
 * as that of an exception deep below, in the words of its TLS library.
 */
final class TlsWords {
    private static final Pattern CLOSED_AT_ONCE = Pattern.compile(
            "network closed for unknown reason|connection reset|broken pipe|connection closed before", Pattern.CASE_INSENSITIVE);
    private static final Pattern NAME = Pattern.compile("no subject alternative|no name matching", Pattern.CASE_INSENSITIVE);
    private static final Pattern TIME = Pattern.compile("validity|expired|not ?before|not ?after", Pattern.CASE_INSENSITIVE);
    private static final Pattern NO_TLS = Pattern.compile("not an ssl/tls record|wrong version number|http request");
    private static final Pattern OF_THE_CLIENT =
            Pattern.compile("certificate required|bad certificate|unknown ca|certificate unknown|handshake failure|certificate expired");
    private static final Pattern NO_HOST = Pattern.compile("unable to resolve host", Pattern.CASE_INSENSITIVE);
    /** A call waited for a connection, or for the name of the host, in the channel's words. */
    private static final Pattern NOT_CONNECTED =
            Pattern.compile("waiting_for_connection|^Deadline (CallOptions|Context) was exceeded", Pattern.CASE_INSENSITIVE);
    /** Its time was over before it began: it says nothing of the connection. */
    private static final Pattern NOT_BEGUN = Pattern.compile("ClientCall started after");
    private static final String OVER_TLS = "no connection over TLS: ";
    private static final int DEEPEST = 20;

    private TlsWords() {}

    /** A sidecar that speaks TLS would have done the same. {@code tls}: null: there is none here. */
    static boolean isMaybeTls(Status status, TlsSettings tls, boolean hasStood) {
        return tls == null && isClosedAtOnce(status, hasStood);
    }

    private static boolean isClosedAtOnce(Status status, boolean hasStood) {
        return status.getCode() == Status.Code.UNAVAILABLE && !hasStood && CLOSED_AT_ONCE.matcher(textOf(status)).find();
    }

    /** Null: it is not about a connection that did not come about. */
    static KeyturnException explained(Status status, String address, TlsSettings tls, boolean hasStood, TlsProbe probe) {
        if (status.getCode() == Status.Code.DEADLINE_EXCEEDED) return overdue(status, address, hasStood);
        if (status.getCode() != Status.Code.UNAVAILABLE) return null;
        String all = textOf(status);
        boolean isClosedAtOnce = isClosedAtOnce(status, hasStood);
        Throwable deepest = deepestOf(status.getCause());
        if (tls == null) return isClosedAtOnce ? closedPlain(address, probe) : notThere(all, deepest, address);
        String what = wordsOf(all, deepest, tls);
        if (what != null) return Failures.tls(reach(address, OVER_TLS + what), !hasStood);
        // A sidecar that is about to stop looks the same.
        if (isClosedAtOnce) return Failures.tls(reach(address, OVER_TLS + closed(tls)), false);
        return notThere(all, deepest, address);
    }

    private static String reach(String address, String why) {
        return "cannot reach " + address + ": " + why;
    }

    private static KeyturnException overdue(Status status, String address, boolean hasStood) {
        String all = textOf(status);
        boolean isNotThere = NOT_CONNECTED.matcher(all).find() || (!hasStood && NOT_BEGUN.matcher(all).find());
        return Failures.tooLate(isNotThere ? Failures.noAnswerYet(address) : null);
    }

    private static KeyturnException closedPlain(String address, TlsProbe probe) {
        if (probe.isAnswered()) {
            String what = "the sidecar speaks TLS, and this client does not (KeyturnOptions.tls)";
            return Failures.tls(reach(address, what), probe.isCertain());
        }
        String what = "the sidecar closed the connection before it said anything: "
                + "it may want TLS (KeyturnOptions.tls), or be about to stop";
        return Failures.of(reach(address, what), Status.Code.UNAVAILABLE);
    }

    private static KeyturnException notThere(String all, Throwable deepest, String address) {
        boolean isNotThere = deepest instanceof SocketException || deepest instanceof UnknownHostException || NO_HOST.matcher(all).find();
        if (!isNotThere) return null;
        String why = deepest == null ? all : Failures.messageOf(deepest).replace("finishConnect(..) failed: ", "");
        return Failures.of(reach(address, why), Status.Code.UNAVAILABLE);
    }

    private static String wordsOf(String all, Throwable deepest, TlsSettings tls) {
        String text = all.replace('_', ' ').toLowerCase(Locale.ROOT);
        if (NO_TLS.matcher(text).find()) return "the sidecar does not speak TLS (leave KeyturnOptions.tls out, or see tls of the sidecar)";
        String why = deepest == null ? "" : Failures.messageOf(deepest);
        if (NAME.matcher(why).find()) {
            return "the certificate of the sidecar is for another name: " + why + " (TlsOptions.serverName: the name that it is for)";
        }
        boolean isOfSidecar = deepest instanceof CertificateException
                || deepest instanceof java.security.GeneralSecurityException
                || text.contains("certificate verify failed");
        if (isOfSidecar && TIME.matcher(why).find()) return "the certificate of the sidecar has ended, or is not valid yet: " + why;
        if (isOfSidecar) {
            return "the certificate of the sidecar is not accepted: " + why + " (TlsOptions.ca: the authority that it must be of)";
        }
        boolean isAlert = text.contains("alert") || text.contains("ssl exception");
        if (isAlert && OF_THE_CLIENT.matcher(text).find()) return ofTheClient(tls) + ": " + why;
        return deepest instanceof SSLException || isAlert ? why : null;
    }

    private static String ofTheClient(TlsSettings tls) {
        return tls.cert() == null
                ? "the sidecar wants a certificate of the client, and this one shows none (TlsOptions.certificate)"
                : "the sidecar does not accept the certificate of the client (TlsOptions.certificate; tls.client_ca of the sidecar)";
    }

    private static String closed(TlsSettings tls) {
        String what = tls.cert() == null
                ? "it may want a certificate of the client (TlsOptions.certificate)"
                : "it may not accept the certificate of the client (TlsOptions.certificate)";
        return "the sidecar closed the connection after the handshake: " + what;
    }

    private static String textOf(Status status) {
        StringBuilder all = new StringBuilder(status.getDescription() == null ? "" : status.getDescription());
        Throwable cause = status.getCause();
        for (int depth = 0; cause != null && depth < DEEPEST; depth++, cause = cause.getCause()) {
            all.append(' ').append(Failures.messageOf(cause));
        }
        return all.toString();
    }

    private static Throwable deepestOf(Throwable error) {
        Throwable deepest = error;
        for (int depth = 0; deepest != null && deepest.getCause() != null && depth < DEEPEST; depth++) deepest = deepest.getCause();
        return deepest;
    }
}
