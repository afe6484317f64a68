"""Elasticsearch from Maven artifacts: the core, which has dense_vector and kNN, and the HTTP transport."""

from __future__ import annotations

from bakeoff.runtime.servers.maven import MavenServer

VERSION = "8.19.21"
OF_MODULE = ("netty-*.jar", "transport-netty4-*.jar", "elasticsearch-ssl-config-*.jar")
"""Artifacts of the HTTP module: the engine requires a module's class in the module's own folder."""
DESCRIPTOR = f"""\
name=transport-netty4
description=HTTP
version={VERSION}
elasticsearch.version={VERSION}
java.version=17
classname=org.elasticsearch.transport.netty4.Netty4Plugin
"""


class ElasticsearchServer(MavenServer):
    """One node."""

    name, title, launcher = "elasticsearch", "Elasticsearch", "ElasticsearchNode"
    how = "`bakeoff servers up elasticsearch --install` fetches it with Maven (41 MB); it needs a JDK of 17 or later."
    artifacts = (
        ("org.elasticsearch", "elasticsearch", VERSION, "jar"),
        ("org.elasticsearch.plugin", "transport-netty4", VERSION, "jar"),
    )

    def arrange(self) -> None:
        module = self.folder / "modules" / "transport-netty4"
        for folder in (module, self.folder / "plugins"):
            folder.mkdir(parents=True, exist_ok=True)
        (module / "plugin-descriptor.properties").write_text(DESCRIPTOR, encoding="utf-8")
        for pattern in OF_MODULE:
            for jar in (self.folder / "lib").glob(pattern):
                jar.replace(module / jar.name)
