package io.keyturn.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** One port for a sidecar without TLS and one with it. The first is up after the first handshake: plain connections before are closed. */
final class TwoPorts implements AutoCloseable {
    private static final int HANDSHAKE = 0x16;

    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final String plain;
    private final String tls;
    private volatile boolean isUp;

    TwoPorts(String plain, String tls) throws IOException {
        this.plain = plain;
        this.tls = tls;
        begin(this::accept);
    }

    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    boolean isUp() {
        return isUp;
    }

    private void accept() throws IOException {
        while (true) {
            Socket one = server.accept();
            begin(() -> serve(one));
        }
    }

    private void serve(Socket one) throws IOException {
        try (one) {
            int first = one.getInputStream().read();
            boolean isTls = first == HANDSHAKE;
            if (!isTls && !isUp) return;
            String to = isTls ? tls : plain;
            try (Socket behind = new Socket("127.0.0.1", Integer.parseInt(to.substring(to.lastIndexOf(':') + 1)))) {
                begin(() -> copy(behind, one));
                behind.getOutputStream().write(first);
                copy(one, behind);
            } finally {
                isUp |= isTls;
            }
        }
    }

    private static void copy(Socket from, Socket to) throws IOException {
        try (to) {
            InputStream in = from.getInputStream();
            in.transferTo(to.getOutputStream());
        }
    }

    private interface Task {
        void run() throws IOException;
    }

    private static void begin(Task task) {
        Thread thread = new Thread(() -> {
            try {
                task.run();
            } catch (IOException closed) {
                return;
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        server.close();
    }
}
