import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct CookieJarTests {
    let now = Timestamp(seconds: 1_767_603_600)
    let https: HTTPAddress
    let loopback: HTTPAddress

    init() throws {
        https = try HTTPAddress("https://acme.service-now.com/api/now/table/task")
        loopback = try HTTPAddress("http://127.0.0.1:8080/api/now/table/task")
    }

    private func headers(_ cookies: String...) -> HeaderFields { HeaderFields(cookies.map { .init("Set-Cookie", $0) }) }

    @Test func `the cookies of a ServiceNow login are kept, and deleted cookies are removed`() {
        var jar = CookieJar()
        jar.store(headers("glide_user=old; Path=/"), from: https, at: now)
        jar.store(
            headers(
                "JSESSIONID=1A; Path=/; Secure; HttpOnly",
                "glide_user=\"\"; Expires=Thu, 01-Jan-1970 00:00:10 GMT; Path=/; Secure; HttpOnly",
                "glide_user_route=glide.5b; Max-Age=2147483647; Expires=Sat, 01-Apr-2084 12:00:00 GMT; Path=/; Secure",
                "glide_session_store=F0; Max-Age=300; Path=/; Secure; HttpOnly"), from: https, at: now)
        #expect(jar.header(for: https, at: now) == "JSESSIONID=1A; glide_user_route=glide.5b; glide_session_store=F0")
        #expect(jar.header(for: https, at: now + .seconds(300)) == "JSESSIONID=1A; glide_user_route=glide.5b")
    }

    @Test func `a rotated cookie replaces the old one`() {
        var jar = CookieJar()
        jar.store(headers("JSESSIONID=1; Path=/"), from: https, at: now)
        jar.store(headers("JSESSIONID=2; Path=/"), from: https, at: now)
        #expect(jar.header(for: https, at: now) == "JSESSIONID=2")
    }

    @Test func `Max-Age takes precedence over Expires`() {
        var jar = CookieJar()
        jar.store(headers("a=1; Max-Age=60; Expires=Thu, 01-Jan-1970 00:00:10 GMT; Path=/"), from: https, at: now)
        #expect(jar.header(for: https, at: now) == "a=1")
    }

    @Test func `a cookie that ends at a date is kept as long as the server means, whatever the clocks show`() {
        for skew in [Duration.seconds(-7200), .seconds(7200)] {
            var jar = CookieJar()
            var answer = headers("a=1; Expires=\((now + skew + .seconds(1800)).httpDate); Path=/")
            answer["Date"] = (now + skew).httpDate
            jar.store(answer, from: https, at: now)
            #expect(jar.header(for: https, at: now + .seconds(1799)) == "a=1")
            #expect(jar.header(for: https, at: now + .seconds(1800)) == nil)
        }
    }

    @Test func `over plain http, a Secure cookie is sent to this machine only`() throws {
        var jar = CookieJar()
        jar.store(headers("a=1; Path=/; Secure"), from: loopback, at: now)
        #expect(jar.header(for: loopback, at: now) == "a=1")
        let plain = try HTTPAddress("http://acme.service-now.com/")
        jar.store(headers("b=1; Path=/; Secure"), from: plain, at: now)
        #expect(jar.header(for: plain, at: now) == nil)
    }

    @Test func `cookies are sent only to the host that set them, unless they name a domain covering it`() throws {
        var jar = CookieJar()
        jar.store(
            headers("own=1; Path=/", "wide=2; Path=/; Domain=.service-now.com", "evil=3; Domain=example.com"), from: https,
            at: now)
        #expect(jar.header(for: try HTTPAddress("https://other.service-now.com/"), at: now) == "wide=2")
        #expect(jar.header(for: try HTTPAddress("https://evilservice-now.com/"), at: now) == nil)
        #expect(jar.header(for: https, at: now) == "own=1; wide=2")
    }

    @Test func `a cookie's path covers the paths below it, and cookies with longer paths come first`() throws {
        var jar = CookieJar()
        jar.store(headers("a=1; Path=/", "b=2; Path=/api", "c=3"), from: https, at: now)
        #expect(jar.header(for: try HTTPAddress("https://acme.service-now.com/api/x"), at: now) == "b=2; a=1")
        #expect(jar.header(for: try HTTPAddress("https://acme.service-now.com/apix"), at: now) == "a=1")
        #expect(jar.header(for: https, at: now) == "c=3; b=2; a=1")
    }

    @Test(arguments: ["", "=x", "novalue", "a=b\u{0}c", ";;;"]) func `an invalid cookie is ignored`(_ line: String) {
        var jar = CookieJar()
        jar.store(headers(line), from: https, at: now)
        #expect(jar.names.isEmpty)
    }

    @Test func `a jar holds a limited number of cookies, and drops the oldest`() throws {
        let address = try HTTPAddress("https://a.example/")
        let now = Timestamp(seconds: 1_767_603_600)
        var jar = CookieJar()
        jar.store(["Set-Cookie": "huge=" + String(repeating: "x", count: 4092)], from: address, at: now)
        #expect(jar.names.isEmpty)
        for number in 1...120 { jar.store(["Set-Cookie": "c\(number)=1"], from: address, at: now) }
        #expect(jar.names == (71...120).map { "c\($0)" })
        for number in 1...120 {
            jar.store(["Set-Cookie": "d\(number)=" + String(repeating: "x", count: 4000)], from: address, at: now)
        }
        #expect(jar.names == ["d117", "d118", "d119", "d120"])
        #expect((jar.header(for: address, at: now)?.utf8.count ?? 0) <= 16 << 10)
    }
}
