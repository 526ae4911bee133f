package io.keyturn.client.internal.session;

import io.grpc.Status;
import io.keyturn.client.KeyturnException;
import io.keyturn.client.internal.words.Failures;
import io.keyturn.client.internal.words.TlsSettings;
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
    private static final int DEEPEST = 20;

    private TlsWords() {}

    /** Null: it is not about TLS. {@code tls}: null: there is none here. */
    static KeyturnException explained(Status status, TlsSettings tls, boolean hasStood) {
        if (status.getCode() != Status.Code.UNAVAILABLE) return null;
        String all = textOf(status);
        if (tls == null) return CLOSED_AT_ONCE.matcher(all).find() && !hasStood ? maybe() : null;
        Throwable deepest = deepestOf(status.getCause());
        String what = wordsOf(all, deepest, tls);
        if (what != null) return Failures.tls(what, !hasStood);
        // A sidecar that is about to stop looks the same.
        return CLOSED_AT_ONCE.matcher(all).find() && !hasStood ? Failures.tls(closed(tls), false) : null;
    }

    private static KeyturnException maybe() {
        String what = "the sidecar closed the connection before it said anything: "
                + "it may want TLS (KeyturnOptions.tls), or be about to stop";
        return Failures.of(what, Status.Code.UNAVAILABLE);
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
