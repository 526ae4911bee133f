package io.keyturn.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.grpc.Status;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** S593: a token goes to another machine over TLS only. */
final class ClearTextTest {
    private static final String TOKEN = "a-secret";

    private static void connect(String address, Consumer<KeyturnOptions.Builder> more) {
        KeyturnOptions.Builder options = KeyturnOptions.builder().token(TOKEN);
        more.accept(options);
        Keyturn.connect(address, options.build()).close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"example.com:7420", "10.0.0.1:7420", "localhost.example.com:1", "127.0.0.1.example.com:1"})
    void itIsRefusedBeforeAnythingIsSent(String address) {
        List<Consumer<KeyturnOptions.Builder>> sources = List.of(
                options -> options.token(TOKEN),
                options -> options.tokenFile(Path.of("/nowhere")),
                options -> options.tokenFrom(() -> TOKEN));
        for (Consumer<KeyturnOptions.Builder> source : sources) {
            KeyturnException error = assertThrows(KeyturnException.class, () -> connect(address, source));
            assertEquals(Status.Code.INVALID_ARGUMENT, error.code());
            assertEquals(
                    "token: it would be sent to " + address + " in clear text; use tls, or say insecure(true)",
                    error.getMessage());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1:1", "127.1.2.3:1", "localhost:1", "LOCALHOST:1", "[::1]:1", "unix:/run/keyturn/keyturn.sock"})
    void toThisMachineItIsSent(String address) {
        connect(address, options -> {});
    }

    @Test
    void itIsSentOverTlsAndWhereThatIsSaid() {
        connect("example.com:7420", options -> options.tls(TlsOptions.builder().build()));
        connect("example.com:7420", options -> options.insecure(true));
    }
}
