import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct HTTPAddressTests {
    @Test func `an address is parsed into its parts`() throws {
        let address = try HTTPAddress("https://User:p%40ss@Acme.Example.com:8443/a b/c?x=1#top")
        #expect(address.host == "acme.example.com")
        #expect(address.port == 8443)
        #expect(address.target == "/a%20b/c?x=1")
        #expect(address.userInfo == "User:p@ss")
        #expect(address.text == "https://acme.example.com:8443/a%20b/c?x=1")
    }

    @Test func `blanks around a text are removed, but no accent beside them`() {
        #expect(Array(ASCII.trimmed(" \t \u{301}a\u{600}\t ").utf8) == Array("\u{301}a\u{600}".utf8))
    }

    @Test func `an address in a message holds no secret`() throws {
        let address = try HTTPAddress("https://user:secret@hooks.example.com/services/T1?token=secret")
        #expect("\(address)" == "https://hooks.example.com/services/T1")
        #expect(address.place == "hooks.example.com:443")
    }

    @Test(arguments: [
        "", "acme", "ftp://acme", "https://", "https:///x", "https://a b/", "https://acme:0/", "https://acme:http/",
    ])
    func `an invalid address is refused`(_ text: String) {
        #expect(throws: InvalidValue.self) { try HTTPAddress(text) }
    }

    @Test(arguments: [
        ("http://localhost:1", true), ("http://127.0.0.1", true), ("http://127.8.0.1", true), ("http://[::1]:8080", true),
        ("http://127.evil.example", false), ("http://127.0.0.1.evil.example", false), ("http://10.0.0.1", false),
    ])
    func `loopback addresses are those of this machine`(_ text: String, _ isLoopback: Bool) throws {
        #expect(try HTTPAddress(text).isLoopback == isLoopback)
    }

    @Test(arguments: [
        ("/login.do", "https://a.example/login.do"), ("next", "https://a.example/x/next"),
        ("//b.example/y", "https://b.example/y"), ("http://c.example", "http://c.example/"),
    ])
    func `a Location field is resolved against the address of its request`(_ location: String, _ result: String) throws {
        #expect(try HTTPAddress("https://a.example/x/y?z").resolving(location)?.text == result)
    }

    @Test func `a target is encoded, so that no value adds header fields or another request`() throws {
        let address = try HTTPAddress("https://a/b").with(target: "/x y\r\nX-Evil: 1?q=\"%20%")
        #expect(address.target == "/x%20y%0D%0AX-Evil:%201?q=%22%20%25")
        #expect(address.with(target: address.target) == address)
    }

    /// RFC 3986, section 5.4, from `http://a/b/c/d;p?q`, as far as it applies to http.
    static let references: [(String, String?)] = [
        ("g:h", nil), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"),
        ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"), (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"),
        ("g;x?y#s", "http://a/b/c/g;x?y"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"), ("./", "http://a/b/c/"),
        ("..", "http://a/b/"), ("../", "http://a/b/"), ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../", "http://a/"),
        ("../../g", "http://a/g"),
        // 5.4.2
        ("../../../g", "http://a/g"), ("../../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("g.", "http://a/b/c/g."), (".g", "http://a/b/c/.g"), ("g..", "http://a/b/c/g.."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"),
        ("g;x=1/./y", "http://a/b/c/g;x=1/y"), ("g;x=1/../y", "http://a/b/c/y"), ("g?y/./x", "http://a/b/c/g?y/./x"),
        ("g?y/../x", "http://a/b/c/g?y/../x"), ("g#s/./x", "http://a/b/c/g"), ("g#s/../x", "http://a/b/c/g"), ("http:g", nil),
        // As sent by servers.
        ("/login_redirect.do?sysparm_uri=https://a/x", "http://a/login_redirect.do?sysparm_uri=https://a/x"),
        ("g?to=https://b/../c", "http://a/b/c/g?to=https://b/../c"), ("https://b/x/../y?z", "https://b/y?z"),
        ("HTTPS://b", "https://b/"), (" /g ", "http://a/g"), ("mailto:x", nil), ("javascript:alert(1)", nil), ("//", nil),
    ]

    @Test(arguments: references) func `a reference is resolved as in RFC 3986`(_ reference: String, _ result: String?) throws {
        #expect(try HTTPAddress("http://a/b/c/d;p?q").resolving(reference)?.text == result)
    }
}
