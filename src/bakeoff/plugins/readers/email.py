"""E-mail (.eml) and mailboxes (.mbox): subject, sender, recipient, date and text of each message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import ClassVar

from lxml import etree

from bakeoff.corpus.document_kinds import kind_of
from bakeoff.errors import UnreadableFileError
from bakeoff.plugins.kit.reading import NoReaderParams, heading, make_document, report_damage
from bakeoff.plugins.readers._html import html_to_text
from bakeoff.types import Document, Skipped, SourceFile

_HEADERS = ("From", "To", "Date")
_MESSAGE = re.compile(rb"^From [^\n]*\n", re.MULTILINE)


class EmailReader:
    """Reads the plain text of a message, or the text of its HTML; attachments are listed, not read."""

    version: ClassVar[str] = f"1 with lxml {etree.__version__}"
    kinds: ClassVar[tuple[str, ...]] = ("eml", "mbox")
    Params = NoReaderParams

    def __init__(self, params: NoReaderParams) -> None:
        pass

    def read(self, file: SourceFile) -> Document | Skipped:
        """The message, or all messages of a mailbox under their subjects."""
        with report_damage("e-mail", etree.LxmlError):
            found = [_parse(data) for data in _messages(file)]
            if not any(message.keys() for message in found):
                raise UnreadableFileError("damaged e-mail: it has no header")
            blocks = [block for message in found for block in _blocks(message)]
            return make_document(file, blocks, str(found[0]["Subject"] or "") if len(found) == 1 else "")


def _messages(file: SourceFile) -> list[bytes]:
    if kind_of(file.id) != "mbox":
        return [file.data]
    return [part for part in _MESSAGE.split(file.data) if part.strip()]


def _parse(data: bytes) -> EmailMessage:
    parser: BytesParser[EmailMessage] = BytesParser(policy=policy.default)
    return parser.parsebytes(data)


def _blocks(message: EmailMessage) -> Iterator[str]:
    yield heading(1, str(message["Subject"] or "Without a subject"))
    yield "\n".join(f"{name}: {message[name]}" for name in _HEADERS if message[name])
    body = message.get_body(preferencelist=("plain", "html"))
    if body is not None:
        text = str(body.get_content())
        yield html_to_text(text)[0] if body.get_content_subtype() == "html" else text
    names = [name for part in message.iter_attachments() if (name := part.get_filename())]
    if names:
        yield f"Attachments: {', '.join(names)}"
