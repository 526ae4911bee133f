package io.keyturn.client.internal.session;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.cert.X509Certificate;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/** Who is there, when a connection without TLS is closed before a word was said. */
final class SpeaksTls {
    private SpeaksTls() {}

    /** A Unix socket is not asked. */
    static boolean canAsk(String address) {
        return !address.startsWith("unix:") && address.lastIndexOf(':') >= 0;
    }

    /**
     * Whether a handshake is answered. Nothing is sent in it: no certificate matters. It takes as long as the other side likes:
     * closing {@code raw} ends it.
     */
    static boolean over(Socket raw, String address) {
        int colon = address.lastIndexOf(':');
        String host = address.substring(0, colon).replaceAll("^\\[|]$", "");
        int port = Integer.parseInt(address.substring(colon + 1));
        try (raw) {
            raw.connect(new InetSocketAddress(host, port));
            return answers(raw, host, port);
        } catch (IOException | GeneralSecurityException | RuntimeException nobody) {
            return false;
        }
    }

    private static boolean answers(Socket raw, String host, int port) throws IOException, GeneralSecurityException {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new Anybody()}, null);
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket(raw, host, port, true)) {
            socket.startHandshake();
            return true;
        } catch (SSLException refused) {
            // An alert is sent by no server but one of TLS, which does not like this client.
            return String.valueOf(refused.getMessage()).contains("alert");
        }
    }

    /** It only looks. */
    private static final class Anybody extends X509ExtendedTrustManager {
        @Override
        public void checkClientTrusted(X509Certificate[] chain, String kind, Socket socket) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String kind, Socket socket) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String kind, SSLEngine engine) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String kind, SSLEngine engine) {}

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String kind) {}

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String kind) {}

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return new X509Certificate[0];
        }
    }
}
