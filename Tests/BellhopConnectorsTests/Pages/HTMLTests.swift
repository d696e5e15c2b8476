import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct HTMLTests {
    private func text(_ html: String) -> String { HTMLText.text(of: [0], in: HTMLDocument(html)) }

    @Test(arguments: [
        ("<p>One<p>Two", "One\nTwo"), ("a  b\n c", "a b c"), ("a<br>b<br/>c", "a\nb\nc"),
        ("<ul><li>x<li>y</ul>z", "x\ny\nz"), ("<table><tr><td>a<td>b<tr><th>c</th><td></td></table>", "a | b\nc |"),
        ("<h1>A &amp; B</h1><script>var x = '<p>no</p>'</script><style>p {}</style>ok", "A & B\nok"),
        ("x<!-- no <b> -->y<!DOCTYPE html>z", "xyz"), ("<b>bo</b>ld <i>it</i>", "bold it"),
        ("<pre>  a\n    b</pre>", "  a\n    b"), ("<pre>a\r\nb</pre>", "a\nb"), ("<img alt='A cat'> sits", "A cat sits"),
        ("Name: <input value='Ada'><input type=hidden value=token><input type=password value=pw>", "Name: Ada"),
        ("<select><option>a<option selected>b</select>", "b"), ("<textarea><b>raw</b></textarea>", "<b>raw</b>"),
        ("<div hidden>no</div><noscript>no</noscript>yes", "yes"), ("2 < 3 & 4 > 1", "2 < 3 & 4 > 1"),
        ("<a href=\"x>y\">link</a>", "link"), ("</p></div>stray", "stray"), ("<p", ""), ("<", "<"), ("a<b", "a"),
        ("<script>unclosed", ""), ("&nbsp;a&nbsp;&nbsp;b&shy;c", "a bc"), ("", ""),
    ])
    func `a page is read as its visible text`(_ html: String, _ words: String) { #expect(text(html) == words) }

    @Test(arguments: [
        ("<b>x</b>", "<b>x</b>"), ("a &lt;b&gt; c", "a &lt;b&gt; c"), ("a&lt;\u{301}b", "a&lt;\u{301}b"),
        ("&amp;\u{338}gt; &gt;\u{338}", "&amp;\u{338}gt; &gt;\u{338}"), ("a \u{301}b  c", "a \u{301}b c"),
        ("<i title='&quot;\u{301}'>x</i>", "<i title=\"&quot;\u{301}\">x</i>"),
    ])
    func `what a page says as text is text in its HTML too, also before an accent`(_ html: String, _ normalized: String) {
        #expect(HTMLDocument(html).html(of: 0).hasBytes(of: normalized))
    }

    @Test(arguments: [
        ("&lt;&gt;&quot;&apos;&amp;", "<>\"'&"), ("&#65;&#x42;&#X43;", "ABC"), ("&#150;&#0;&#x110000;", "–\u{FFFD}\u{FFFD}"),
        ("&euro;&nope;&", "€&nope;&"), ("a&ampb", "a&b"), ("&#;&#x;", "&#;&#x;"), ("Caf&eacute;", "Café"),
        ("&#99999999999999;", "&#99999999999999;"),
    ])
    func `entities are decoded`(_ text: String, _ meant: String) {
        #expect(HTMLEntities.decode(Array(text.utf8)) == meant)
    }

    @Test(
        arguments: [
            ([0x66, 0xFC, 0x72, 0x20, 0x80], "text/html", "für €"), ([0x66, 0xC3, 0xBC, 0x72], "text/html", "für"),
            ([0x66, 0xFC, 0x72], "text/plain", "für"), ([0xC3, 0xBC], "text/html; charset=ISO-8859-1", "Ã¼"),
            ([0x66, 0xFC], "text/html; charset=UTF-8", "f\u{FFFD}"),
            // `<!utf-8>` before the letter.
            ([0x3C, 0x21, 0x75, 0x74, 0x66, 0x2D, 0x38, 0x3E, 0xFC], "text/html", "\u{FFFD}"),
        ] as [([UInt8], String, String)])
    func `a page that is not UTF-8 is read as Windows-1252`(_ body: [UInt8], _ type: String, _ text: String) throws {
        #expect(try PageWatch(Settings([:]), source: "page").read(body, type: type)?.text == text)
    }

    @Test func `a feed is read with all its text, also in CDATA sections, and a line for each element`() throws {
        let feed = Array(
            """
            <?xml version="1.0"?><rss><channel><title>News</title><item><title><![CDATA[A < B & C]]></title><link>https://x.example/1\
            </link><description><![CDATA[<p>Down]]> again</description></item></channel></rss>
            """.utf8)
        func text(_ settings: JSON.Object) throws -> String? {
            try PageWatch(Settings(settings), source: "feed").read(feed, type: "application/rss+xml")?.text
        }
        #expect(try text([:]) == "News\nA < B & C\nhttps://x.example/1\n<p>Down again")
        #expect(try text(["select": "item > link"]) == "https://x.example/1")
        #expect(try text(["select": "item > title", "extract": "html"]) == "<title>A &lt; B &amp; C</title>")
        #expect(HTMLText.text(of: [0], in: HTMLDocument(Array("<![CDATA[x".utf8), isXML: true)) == "x")
    }

    @Test func `a page of only opening tags is read quickly`() {
        let depth = 20_000
        #expect(text(String(repeating: "<div>", count: depth) + "x") == "x")
        #expect(text(String(repeating: "<p>", count: depth)) == "")
        #expect(text(String(repeating: "<a b", count: depth)) == "")
        #expect(text(String(repeating: "&", count: depth)).utf8.count == depth)
        #expect(text(String(repeating: "<table><tr><td>", count: 2000) + "x").hasSuffix("x"))
    }

    @Test func `the time of a selector is linear in the page, however deep its nesting`() throws {
        // Every choice of eight among 200 open divs would have to be tried.
        let nested = String(repeating: "<div>", count: 200) + String(repeating: "<p></p>", count: 1000)
        let document = HTMLDocument(nested)
        #expect(try Selector("div div div div div div div div .x").matches(in: document).isEmpty)
        #expect(try Selector("div > div div > div div div div p").matches(in: document).count == 1000)
    }

    @Test func `the time of masking is linear in the text, however many matches it has`() throws {
        // Each match searches as far as possible for a z.
        let many = String(repeating: "a", count: 1 << 19)
        #expect(try TextMasker("a(.*z)?").masked(many).count == 1 << 19)
        #expect(try TextMasker("a+").masked(many) == "…")
        #expect(try TextMasker("b").masked(many) == many)
    }

    @Test func `a match is masked the same way wherever it stands`() throws {
        let masker = try TextMasker("<[a-z]+>|\\bend$")
        for place in [0, 1, 1000, 1023, 1024, 1025, 2000, 2040, 2047, 2048, 2049, 3071, 3072, 5000] {
            let (before, after) = (String(repeating: ".", count: place), String(repeating: ".", count: 3000))
            let long = String(repeating: "x", count: 900)
            #expect(masker.masked(before + "<\(long)>" + after + " end") == before + "…" + after + " …")
            #expect(masker.masked(before + "end" + after) == before + "end" + after)
        }
    }

    static let page = """
        <html><head><title> The  Board </title></head><body>
        <ul id=list class="big open"><li class=open data-id=x1>One</li><li data-id=x2>Two <b class=open>now</b></li></ul>
        <div><ul><li>Three</ul><h1>First</h1><h1>Second</h1></div></body></html>
        """

    @Test(
        arguments: [
            ("li", ["One", "Two now", "Three"]), ("#list > li", ["One", "Two now"]), ("ul.open li.open", ["One"]),
            ("body .open", ["One Two now", "One", "now"]), ("h1:first", ["First"]), ("[data-id=x2]", ["Two now"]),
            ("li[data-id^=\"x\"]", ["One", "Two now"]), ("[data-id$='1'], div h1", ["One", "First", "Second"]),
            ("ul > b", []), ("*[class*=pe]", ["One Two now", "One", "now"]), ("LI [Class]", ["now"]),
            ("li[class~=open]", ["One"]),
            ("div > ul > li", ["Three"]), ("nothing", []),
        ] as [(String, [String])])
    func `a selector finds the elements it describes`(_ selector: String, _ words: [String]) throws {
        let document = HTMLDocument(Self.page)
        let found = try Selector(selector).matches(in: document).map { place in
            HTMLText.text(of: [place], in: document).replacing("\n", with: " ")
        }
        #expect(found == words)
        #expect(document.title == "The Board")
    }

    @Test(arguments: ["", "li >", "> li", "li,,b", "#", ".", "[a", "[a=\"b]", "li:last", "li:first b", "a+b", "a ~ b", "li!"])
    func `an invalid selector is reported`(_ text: String) {
        #expect(throws: InvalidValue.self) { try Selector(text) }
    }

    @Test(arguments: [
        ("[0-9a-f]{8}", "id deadbeef end", "id … end"), ("at \\d+:\\d+", "at 10:30, at 11:45", "…, …"), ("x*", "axxb", "a…b"),
        ("é", "café é", "caf… …"), ("^a", "aa", "…a"), ("nothing", "same", "same"), ("(?i)ABC$", "xabc", "x…"),
        ("", "ab", "ab"),
    ])
    func `each match is masked`(_ pattern: String, _ text: String, _ masked: String) throws {
        #expect(try TextMasker(pattern).masked(text) == masked)
        #expect(throws: InvalidValue.self) { try TextMasker("(") }
    }
}
