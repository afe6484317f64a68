"""JVM engines without a distribution: their Maven artifacts, and a small launcher compiled here."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import ClassVar

from bakeoff.errors import SettingError
from bakeoff.runtime.servers.base import HOST, Server, Site, get_json
from bakeoff.runtime.servers.processes import finish
from bakeoff.storage.pull import DAMAGED_ZIP
from bakeoff.types import JsonObject

POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bakeoff</groupId>
  <artifactId>{name}</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = (
    "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>"
    "<type>{}</type></dependency>"
)
LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d][%-5p][%c{1.}] %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""
SETTINGS = """\
cluster.name: bakeoff
discovery.type: single-node
network.host: {host}
http.port: {http}
transport.port: {transport}
path.data: {data}
path.logs: {logs}
"""


class MavenServer(Server):
    """One node of the Lucene family, on loopback ports only, without users."""

    title: ClassVar[str]
    launcher: ClassVar[str]
    """The class in `java/` that starts the node."""
    artifacts: ClassVar[tuple[tuple[str, str, str, str], ...]]
    """Group, artifact, version and type of what to download with dependencies."""
    heap: ClassVar[str] = "1g"
    ports = 2
    deadline = 120.0

    def find(self) -> Path | None:
        launcher = self.folder / "classes" / f"{self.launcher}.class"
        return launcher if launcher.exists() and shutil.which("java") else None

    def install(self) -> None:
        """Download the artifacts (about 45 MB), unpack plug-ins, compile the launcher."""
        tools = {name: _tool(self.name, name) for name in ("mvn", "javac")}
        self.folder.mkdir(parents=True, exist_ok=True)
        lib = self.folder / "lib"
        shutil.rmtree(lib, ignore_errors=True)
        dependencies = "\n".join(DEPENDENCY.format(*one) for one in self.artifacts)
        pom = self.folder / "pom.xml"
        pom.write_text(POM.format(name=self.name, dependencies=dependencies), encoding="utf-8")
        fetch = [tools["mvn"], "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={lib}"]
        finish(fetch, self.folder, None, "mvn dependency:copy-dependencies")
        self.arrange()
        source = Path(__file__).with_name("java") / f"{self.launcher}.java"
        classes = str(self.folder / "classes")
        compile_it = [tools["javac"], "-d", classes, "-cp", str(lib / "*"), str(source)]
        finish(compile_it, self.folder, None, f"javac {source.name}")

    def arrange(self) -> None:
        """Move downloads where the engine expects them: a plug-in's jars next to the others."""
        for packed in (self.folder / "lib").glob("*.zip"):
            _unpack_jars(packed, packed.parent)

    def prepare(self, site: Site) -> None:
        config = site.data / "config"
        config.mkdir(exist_ok=True)
        places = {"data": site.data / "data", "logs": site.data / "logs"}
        text = SETTINGS.format(host=HOST, http=site.ports[0], transport=site.ports[1], **places)
        (config / f"{self.name}.yml").write_text(text, encoding="utf-8")
        (config / "log4j2.properties").write_text(LOGGING, encoding="utf-8")

    def command(self, site: Site) -> list[str]:
        path = f"{site.program.parent}:{site.folder / 'lib' / '*'}"
        java = [_tool(self.name, "java"), f"-Xms{self.heap}", f"-Xmx{self.heap}", "-cp", path]
        return [*java, self.launcher, str(site.folder), str(site.data / "config")]

    def version(self, site: Site) -> str:
        nodes: JsonObject = get_json(f"{site.http}/_nodes/_local")["nodes"]
        return f"{self.title} {next(iter(nodes.values()))['version']}"

    def settings(self, site: Site) -> dict[str, str]:
        return {f"BAKEOFF_{self.name.upper()}_URL": site.http}


def _tool(server: str, name: str) -> str:
    path = shutil.which(name)
    if path is None:
        raise SettingError(f"{server} needs `{name}` on the PATH: install a JDK of 17 or later, and Maven.")
    return path


def _unpack_jars(packed: Path, folder: Path) -> None:
    """Unpack a plug-in's jars next to the others, keeping existing ones."""
    try:
        with zipfile.ZipFile(packed) as plugin:
            for inner in plugin.namelist():
                if inner.endswith(".jar") and not (folder / Path(inner).name).exists():
                    (folder / Path(inner).name).write_bytes(plugin.read(inner))
    except (*DAMAGED_ZIP, OSError) as exc:
        raise SettingError(
            f"{packed} cannot be unpacked ({exc}). Delete it from Maven's repository and install the server again."
        ) from exc
