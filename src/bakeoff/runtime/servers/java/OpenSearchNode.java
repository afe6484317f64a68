import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.logging.LogConfigurator;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.index.mapper.MapperExtrasPlugin;
import org.opensearch.knn.plugin.KNNPlugin;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** One OpenSearch node with its k-NN plug-in and the module of rank_features; its arguments are its home and its folder of settings. */
public final class OpenSearchNode extends Node {
    private OpenSearchNode(Environment environment) {
        super(environment, List.of(Netty4Plugin.class, MapperExtrasPlugin.class, KNNPlugin.class), false);
    }

    public static void main(String[] arguments) throws Exception {
        Settings given = Settings.builder().put("path.home", arguments[0]).build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            given, Map.of(), Path.of(arguments[1]), () -> "bakeoff");
        LogConfigurator.registerErrorListener();
        LogConfigurator.configure(environment);
        Node node = new OpenSearchNode(environment);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            try {
                node.close();
            } catch (java.io.IOException exception) {
                throw new java.io.UncheckedIOException(exception);
            }
        }));
        node.start();
        Thread.currentThread().join();
    }
}
