import java.nio.file.Path;
import java.util.Map;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** One Elasticsearch node; its arguments are its home, with a folder of modules, and its folder of settings. */
public final class ElasticsearchNode {
    public static void main(String[] arguments) throws Exception {
        Settings given = Settings.builder().put("path.home", arguments[0]).build();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            given, Map.of(), Path.of(arguments[1]), () -> "bakeoff");
        LogConfigurator.registerErrorListener();
        LogConfigurator.configure(environment, true);
        PluginsLoader plugins = PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(environment.modulesDir()),
            PluginsLoader.loadPluginsBundles(environment.pluginsDir()),
            Map.of(), false);
        Node node = new Node(environment, plugins);
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
