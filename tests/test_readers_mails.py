"""Mails in folders: what is read of them, and which texts are none."""

import base64
import gzip
import quopri
from email.message import EmailMessage
from pathlib import Path

import pytest
from cli_helpers import done

from polymargin.errors import DataError
from polymargin.readers import read
from polymargin.readers._mails import is_mail, mail_text

HEADER = b"From: Ann <ann@example.org>\nDate: Mon, 1 Jul 2024 10:00:00 +0200\nSubject: %s\n"


def text_of(content: bytes, encoding: str = "utf-8") -> str:
    assert is_mail("1.txt", content)
    return mail_text(content, encoding)


def encoded(text: str, way: str, charset: str = "utf-8") -> bytes:
    content = text.encode(charset)
    body = base64.encodebytes(content) if way == "base64" else quopri.encodestring(content)
    kind = f"Content-Type: text/plain; charset={charset}\nContent-Transfer-Encoding: {way}\n\n"
    return HEADER % b"hi" + b"MIME-Version: 1.0\n" + kind.encode() + body


class TestDecoding:
    @pytest.mark.parametrize("way", ["base64", "quoted-printable"])
    @pytest.mark.parametrize("charset", ["utf-8", "windows-1252", "utf-16"])
    def test_bodies(self, way: str, charset: str) -> None:
        text = text_of(encoded("Grüße aus Köln\n", way, charset))
        assert text == "From: Ann <ann@example.org>\nSubject: hi\n\nGrüße aus Köln\n"

    @pytest.mark.parametrize(
        ("subject", "expected"),
        [
            (b"=?utf-8?b?R3LDvMOfZQ==?=", "Grüße"),
            (b"=?iso-8859-1?q?Gr=FC=DFe?= =?utf-8?q?_aus_K=C3=B6ln?=", "Grüße aus Köln"),
            (b"a long\n  subject", "a long subject"),
            (b"Gr\xc3\xbc\xc3\x9fe", "Grüße"),
            (b"=?no-such?q?plain?=", "plain"),
            (b"=?utf-8?b?R?=", "=?utf-8?b?R?="),
            (b"a\0b", "a\ufffdb"),
        ],
    )
    def test_subjects(self, subject: bytes, expected: str) -> None:
        assert f"Subject: {expected}\n" in text_of(HEADER % subject + b"\nbody\n")

    def test_parts_that_name_no_encoding(self) -> None:
        content = HEADER % b"x" + b"\nth\xe9 \x80\n"
        assert text_of(content, "windows-1252").endswith("thé €\n")
        assert text_of(content).endswith("th\ufffd \ufffd\n")
        strange = content.replace(b"\n\n", b"\nContent-Type: text/plain; charset=rot13\n\n")
        assert text_of(strange, "windows-1252").endswith("thé €\n")
        no_name = content.replace(b"\n\n", b'\nContent-Type: text/plain; charset="a\0"\n\n')
        assert text_of(no_name, "windows-1252").endswith("thé €\n")
        assert "\0" not in text_of(HEADER % b"x" + b"\na\0b\n")


class TestParts:
    def mail(self) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["Subject"] = "Bob <bob@example.org>", "report"
        message.set_content("the plain words\n")
        return message

    def test_plain_counts_more_than_html(self) -> None:
        message = self.mail()
        message.add_alternative("<p>the <b>rich</b> words</p>", subtype="html")
        message.add_attachment(b"binary", maintype="application", subtype="pdf", filename="a.pdf")
        message.add_attachment("a,b\n1,2\n", subtype="csv", filename="table.csv")
        text = text_of(message.as_bytes())
        assert "the plain words" in text
        for word in ("rich", "binary", "a,b", "pdf", "boundary"):
            assert word not in text

    def test_html_alone_has_no_tags(self) -> None:
        message = self.mail()
        message.set_content(
            "<html><head><title>t</title><style>p {}</style></head><body onload='x()'>"
            "<!-- hidden --><p>5 &lt; 6 &amp; x</p><p>caf&eacute;<br>a < b</p>"
            "<script>run('<p>')</script></body></html>",
            subtype="html",
        )
        assert text_of(message.as_bytes()).endswith("\n\n5 < 6 & x café a < b")

    def test_a_mail_inside_a_mail(self) -> None:
        outer, inner = self.mail(), self.mail()
        inner.set_content("the words inside\n")
        outer.add_attachment(inner)
        assert "the words inside" in text_of(outer.as_bytes())

    def test_a_mail_without_a_text(self) -> None:
        message = EmailMessage()
        message["From"], message["Subject"] = "b@example.org", "photo"
        message.set_content(b"\x89PNG", maintype="image", subtype="png")
        assert text_of(message.as_bytes()) == "From: b@example.org\nSubject: photo\n\n"


class TestWhatIsAMail:
    @pytest.mark.parametrize(
        "content",
        [
            HEADER % b"x" + b"\nbody",
            b"From ann Mon Jul  1 10:00:00 2024\n" + HEADER % b"x" + b"\nbody",
            (HEADER % b"x" + b"\nbody").replace(b"\n", b"\r\n"),
            b"Received: from a\n by b\nfrom: a@b\n\n",
        ],
    )
    def test_mails(self, content: bytes) -> None:
        assert is_mail("1", content)

    @pytest.mark.parametrize(
        "content",
        [
            b"Subject: a note\n\nSome words",
            b"From: here\nto there it is far\n\nwords",
            b"From: here\nTo: there\n\nwords",
            b"Note: to all\n\nFrom: me\nSubject: x\n\n",
            b" From: a\nSubject: b\n\n",
            b"From: a\nSubject: no empty line",
            b"From the start\n\nit was good",
            b"\n\n",
            b"",
        ],
    )
    def test_plain_texts(self, content: bytes) -> None:
        assert not is_mail("1.txt", content)
        assert is_mail("1.eml", content)


class TestFolders:
    def test_mails_beside_texts(self, tmp_path: Path) -> None:
        mail = encoded("Grüße", "base64")
        files = {
            "ham/1.eml": mail,
            "ham/2": b"plain words\n",
            "spam/1.EML.gz": gzip.compress(mail),
            "spam/2.eml": b"no header at all\n",
        }
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
        first, second, third, fourth = read(tmp_path).X
        assert first.endswith("Grüße")
        assert second == "plain words\n"
        assert third == first
        assert fourth.endswith("no header at all\n")

    def test_other_texts_keep_their_encoding(self, tmp_path: Path) -> None:
        for label, content in (("a", b"th\xe9"), ("b", HEADER % b"caf\xe9" + b"\nth\xe9")):
            (tmp_path / label).mkdir()
            (tmp_path / label / "1").write_bytes(content)
        with pytest.raises(DataError, match="byte 0xe9 is not UTF-8"):
            read(tmp_path)
        text, mail = read(tmp_path, encoding="windows-1252").X
        assert text == "thé"
        assert mail.endswith("Subject: café\n\nthé")

    def test_parts_without_end(self, tmp_path: Path) -> None:
        start = HEADER % b"x" + b"Content-Type: multipart/mixed; boundary=b0\n\n"
        for depth in range(5000):
            inner = f"--b{depth}\nContent-Type: multipart/mixed; boundary=b{depth + 1}\n\n"
            start += inner.encode()
        for label in "ab":
            (tmp_path / label).mkdir()
            (tmp_path / label / "1.eml").write_bytes(start)
        with pytest.raises(DataError, match="1.eml: too many parts inside each other"):
            read(tmp_path)

    def test_a_model_of_encoded_mails(self, tmp_path: Path) -> None:
        words = {"ham": "meeting report lunch", "spam": "prize money winner"}
        for label, text in words.items():
            (tmp_path / "mails" / label).mkdir(parents=True)
            for i in range(10):
                content = encoded(f"{text} {i}", "base64")
                (tmp_path / "mails" / label / f"{i}.eml").write_bytes(content)
        (tmp_path / "new").mkdir()
        for name, text in (("1.txt", "lunch"), ("2.txt", "prize")):
            (tmp_path / "new" / name).write_text(text)
        model = tmp_path / "m.safetensors"
        done("train", tmp_path / "mails", "-o", model)
        assert done("predict", model, tmp_path / "new").out == "1.txt\tham\n2.txt\tspam\n"
