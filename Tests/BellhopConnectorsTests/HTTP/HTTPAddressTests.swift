import Testing

@testable import BellhopConnectors

@Suite struct HTTPAddressTests {
    @Test func `an address is taken apart`() throws {
        let address = try HTTPAddress("https://User:p%40ss@Acme.Example.com:8443/a b/c?x=1#top")
        #expect(address.host == "acme.example.com")
        #expect(address.port == 8443)
        #expect(address.target == "/a%20b/c?x=1")
        #expect(address.userInfo == "User:p@ss")
        #expect(address.text == "https://acme.example.com:8443/a%20b/c?x=1")
    }

    @Test func `what a message shows of an address holds no secret`() throws {
        let address = try HTTPAddress("https://user:secret@hooks.example.com/services/T1?token=secret")
        #expect("\(address)" == "https://hooks.example.com/services/T1")
        #expect(address.place == "hooks.example.com:443")
    }

    @Test(arguments: [
        "", "acme", "ftp://acme", "https://", "https:///x", "https://a b/", "https://acme:0/", "https://acme:http/",
    ])
    func `what is no address is refused`(_ text: String) {
        #expect(throws: HTTPAddress.Problem.self) { try HTTPAddress(text) }
    }

    @Test(
        arguments: [
            ("http://localhost:1", true), ("http://127.0.0.1", true), ("http://127.8.0.1", true), ("http://[::1]:8080", true),
            ("http://127.evil.example", false), ("http://127.0.0.1.evil.example", false), ("http://10.0.0.1", false),
        ])
    func `loopback is this machine only`(_ text: String, _ isLoopback: Bool) throws {
        #expect(try HTTPAddress(text).isLoopback == isLoopback)
    }

    @Test(
        arguments: [
            ("/login.do", "https://a.example/login.do"), ("next", "https://a.example/x/next"),
            ("//b.example/y", "https://b.example/y"), ("http://c.example", "http://c.example/"),
        ])
    func `a location is resolved against where it came from`(_ location: String, _ result: String) throws {
        #expect(try HTTPAddress("https://a.example/x/y?z").resolving(location)?.text == result)
    }

    @Test func `percent-encoding leaves nothing that means something`() {
        #expect(PercentEncoding.encode("a+b&c=d#é ^/") == "a%2Bb%26c%3Dd%23%C3%A9%20%5E%2F")
        #expect(PercentEncoding.decode("a%2Bb%C3%A9%zz%4") == "a+bé%zz%4")
        #expect(PercentEncoding.query([("a b", "1&2"), ("c", "")]) == "a%20b=1%262&c=")
    }

    @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("john:pässword", "am9objpww6Rzc3dvcmQ=")])
    func `base64 is RFC 4648's`(_ text: String, _ encoded: String) {
        #expect(Base64.encode(Array(text.utf8)) == encoded)
    }
}
