"""OpenSearch from Maven artifacts, with the k-NN plug-in's Lucene engine, which needs no native library."""

from __future__ import annotations

from bakeoff.runtime.servers.maven import MavenServer

VERSION = "2.19.1"  # the only 2.x whose k-NN plug-in is on Maven Central


class OpensearchServer(MavenServer):
    """One node."""

    name, title, launcher = "opensearch", "OpenSearch", "OpenSearchNode"
    how = "`bakeoff servers up opensearch --install` fetches it with Maven (45 MB); it needs a JDK of 17 or later."
    artifacts = (
        ("org.opensearch", "opensearch", VERSION, "jar"),
        ("org.opensearch.plugin", "transport-netty4-client", VERSION, "jar"),
        ("org.opensearch.plugin", "mapper-extras-client", VERSION, "jar"),
        ("org.opensearch.plugin", "opensearch-scripting-painless-spi", VERSION, "jar"),
        ("org.opensearch.plugin", "opensearch-knn", f"{VERSION}.0", "zip"),
        ("org.apache.logging.log4j", "log4j-core", "2.21.0", "jar"),
    )
