import Testing

@testable import BellhopConsole

@Suite struct HTMLTests {
    @Test func `text inserted into markup is escaped, in content and in attributes`() {
        let hostile = "<script>alert('x')</script> & \"quoted\""
        let page: HTML = "<p title=\"\(hostile)\">\(hostile)</p>"
        #expect(
            page.text
                == "<p title=\"&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;\">&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &amp; &quot;quoted&quot;</p>"
        )
    }

    @Test func `a line end CRLF becomes LF, and a CR elsewhere is replaced`() {
        let page: HTML = "<pre>\("a\r\nb\rc\r")</pre>"
        #expect(page.text == "<pre>a\nb\u{FFFD}c</pre>")
    }

    @Test(arguments: [
        "javascript:alert(1)", "data:text/html,x", "//evil.example", "/\\evil.example", "vbscript:x", " javascript:x",
    ])
    func `the address of a script or of another host is not used as a link`(_ address: String) {
        let page: HTML = "<a href=\"\(link: address)\">x</a>"
        #expect(page.text == "<a href=\"#\">x</a>")
    }
}
