package io.keyturn.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Stands between a client and its sidecar, and breaks their connections. */
final class CuttingProxy implements AutoCloseable {
    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final int port;
    /** Answers do not come through: they are lost. */
    private volatile boolean swallowing;

    CuttingProxy(String address) throws IOException {
        port = Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
        thread(this::accept);
    }

    String address() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    void swallowAnswers(boolean swallow) {
        swallowing = swallow;
    }

    /** Breaks what is connected now. */
    void cut() {
        for (Socket socket : sockets) closeQuietly(socket);
        sockets.clear();
    }

    @Override
    public void close() throws IOException {
        server.close();
        cut();
    }

    private void accept() {
        try {
            while (true) {
                Socket client = server.accept();
                Socket sidecar = new Socket(InetAddress.getLoopbackAddress(), port);
                sockets.add(client);
                sockets.add(sidecar);
                thread(() -> pump(client, sidecar, false));
                thread(() -> pump(sidecar, client, true));
            }
        } catch (IOException closed) {
            return;
        }
    }

    private void pump(Socket from, Socket to, boolean areAnswers) {
        byte[] buffer = new byte[65_536];
        try (InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                if (areAnswers && swallowing) continue;
                out.write(buffer, 0, read);
                out.flush();
            }
        } catch (IOException broken) {
            return;
        } finally {
            closeQuietly(from);
            closeQuietly(to);
        }
    }

    private static void closeQuietly(Socket socket) {
        try {
            socket.close();
        } catch (IOException closed) {
            return;
        }
    }

    private static void thread(Runnable task) {
        Thread thread = new Thread(task, "cutting-proxy");
        thread.setDaemon(true);
        thread.start();
    }
}
