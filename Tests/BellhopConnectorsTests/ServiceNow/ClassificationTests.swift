import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct ClassificationTests {
    let now = Timestamp(seconds: 1_767_603_600)

    private func read(_ response: HTTPResponse, expecting: AnswerShape = .rows) throws -> Classification {
        Classification(
            response, to: try HTTPAddress("https://acme.service-now.com/api/now/v2/table/task"), expecting: expecting, at: now)
    }

    private func envelope(_ message: String, _ detail: String = "null") -> String {
        #"{"error":{"message":"\#(message)","detail":\#(detail)},"status":"failure"}"#
    }

    @Test(arguments: [
        ("/login.do", Classification.sessionExpired), ("/login_redirect.do?x=1", .sessionExpired),
        ("login_with_sso.do", .sessionExpired), ("https://acme.service-now.com/session_timeout.do", .sessionExpired),
        ("/auth_redirect.do", .sessionExpired), ("/security_interceptor.do", .csrf(token: nil)),
        ("https://idp.example.com/saml", .loginRequired(host: "idp.example.com")),
        ("https://evil.example/login.do", .loginRequired(host: "evil.example")), ("/nowhere", .unexpectedPage(status: 302)),
    ])
    func `a redirect is classified by its target`(_ location: String, _ meaning: Classification) throws {
        #expect(try read(HTTPResponse(status: 302, headers: ["Location": location])) == meaning)
    }

    @Test(arguments: [
        (200, "<div class=\"instance-hibernating-page\">", Classification.hibernating),
        (200, "\n  <html><h1>Your instance is hibernating</h1>", .hibernating),
        (200, "<title>Instance Hibernating page</title>", .hibernating),
        (200, "<form action=\"login.do\">", .sessionExpired), (200, "<input name=sysparm_login_url>", .sessionExpired),
        (502, "<html><center>nginx</center>", .gateway(status: 502)), (500, "<html>", .gateway(status: 500)),
        (200, "<html>Maintenance", .unexpectedPage(status: 200)), (401, "<html>No", .unauthenticated),
        (401, "<form action=\"login.do\">", .unauthenticated),
        (429, "<html>Slow down", .throttled(after: nil)),
    ])
    func `a web page is classified by its text`(_ status: Int, _ body: String, _ meaning: Classification) throws {
        #expect(try read(.html(status, body)) == meaning)
    }

    @Test func `a web page with a content type of JSON is a web page`() throws {
        #expect(try read(.json(200, [:], "<html>")) == .unexpectedPage(status: 200))
    }

    @Test func `a 202 is a dropped request, with or without a body`() throws {
        #expect(try read(HTTPResponse(status: 202)) == .dropped)
        #expect(try read(.json(202, [:], #"{"result":[]}"#)) == .dropped)
    }

    @Test func `an error beside a result makes the answer a failure`() throws {
        let half = #"{"result":[{"sys_id":"a"}],"error":{"message":"Transaction cancelled: maximum execution time exceeded"}}"#
        #expect(try read(.json(200, [:], half)) == .quota)
        #expect(try read(.json(200, [:], half), expecting: .listing) == .quota)
        #expect(try read(.json(200, [:], String(half.dropFirst(20)))) == .quota)
        #expect(try read(.json(200, [:], #"{"result":[],"error":{"message":"Odd"}}"#)) == .serverError(status: 200, "Odd"))
    }

    @Test func `an error at the end of a large list is seen`() throws {
        let filler = String(repeating: #"{"a":"\"error\":{"},"#, count: 60_000)
        let good = #"{"result":{"Incident":["# + filler + #"{}]}}"#
        let bad = good.dropLast() + #","error":{"message":"Transaction cancelled: x"}}"#
        #expect(try read(.json(200, [:], good), expecting: .listing) == .ok(.null))
        #expect(try read(.json(200, [:], String(bad)), expecting: .listing) == .quota)
    }

    @Test(arguments: [1, 60_000]) func `a column named error is not an error`(_ rows: Int) throws {
        for value in [#""disk""#, #"{"display_value":"disk","value":"1"}"#, #"{"link":"https://x","value":"1"}"#] {
            let row = #"{"sys_id":"a","error":\#(value)}"#
            let body = #"{"result":["# + Array(repeating: row, count: rows).joined(separator: ",") + "]}"
            #expect(try read(.json(200, [:], body), expecting: .listing) == .ok(.null), "\(value)")
        }
    }

    @Test func `an empty or partial page is not a login page`() throws {
        #expect(try read(.html(200, "<p>x</p>"), expecting: .page) == .ok(.null))
        for status in [200, 204, 206] {
            guard case .badAnswer = try read(.html(status, status == 206 ? "<p>x</p>" : ""), expecting: .page) else {
                Issue.record("\(status) was classified as a page")
                continue
            }
        }
    }

    @Test func `a 401 is classified by its fields`() throws {
        #expect(
            try read(.json(401, ["X-Is-Logged-In": "true", "X-UserToken-Response": "t0"], envelope("x"))) == .csrf(token: "t0"))
        #expect(try read(.json(401, ["X-MFA_TOKEN": "invalid"], envelope("x"))) == .mfaRequired)
        #expect(try read(.json(401, ["X-Is-Logged-In": "false"], envelope("User Not Authenticated"))) == .unauthenticated)
    }

    @Test func `the other statuses are classified by the platform's messages`() throws {
        #expect(
            try read(.json(403, [:], envelope("Insufficient rights to query records")))
                == .forbidden("Insufficient rights to query records"))
        #expect(try read(.json(404, [:], envelope("No Record found"))) == .noRows)
        #expect(
            try read(.json(404, [:], envelope("No Record found", #""ACL""#)), expecting: .record)
                == .goneOrHidden("No Record found: ACL"))
        #expect(try read(.json(400, [:], envelope("Requested URI does not represent any resource"))) == .apiMissing)
        #expect(try read(.json(400, [:], envelope("Invalid table x"))) == .refused(status: 400, "Invalid table x"))
        #expect(try read(HTTPResponse(status: 414)) == .tooLong)
        #expect(try read(.json(500, [:], envelope("Boom"))) == .serverError(status: 500, "Boom"))
        #expect(try read(.json(503, [:], envelope("Boom"))) == .gateway(status: 503))
        #expect(try read(.json(503, ["Retry-After": "60"], envelope("Boom"))) == .unavailable(after: .seconds(60)))
        #expect(try read(.json(429, ["Retry-After": "2"], envelope("Rate limit exceeded"))) == .throttled(after: .seconds(2)))
        #expect(try read(.json(429, [:], envelope("Queue full"))) == .throttled(after: nil))
    }

    @Test(arguments: [
        (AnswerShape.rows, #"{"result":[]}"#, true), (.rows, #"{"result":{}}"#, false), (.record, #"{"result":{}}"#, true),
        (.record, #"{"result":[]}"#, false), (.data, #"{"data":"Successfully inserted"}"#, true),
        (.data, #"{"result":{}}"#, false),
        (.rows, #"{"result":[{"a":"#, false), (.rows, "", false), (.listing, "", false),
    ])
    func `a good answer has the expected shape`(_ expecting: AnswerShape, _ body: String, _ good: Bool) throws {
        let meaning = try read(.json(200, [:], body), expecting: expecting)
        if case .ok = meaning { #expect(good) } else { #expect(!good) }
    }

    @Test func `a write is repeated without a lookup only if the refusal proves that it had no effect`() {
        let certain: [Classification] = [.throttled(after: nil), .hibernating, .sessionExpired, .csrf(token: nil)]
        for meaning in certain {
            switch meaning.failure(of: "acme:443", changesSomething: true)?.remedy {
            case .retry?, .rest?: break
            default: Issue.record("\(meaning)")
            }
        }
        let unknown: [Classification] = [
            .gateway(status: 502), .unexpectedPage(status: 200), .dropped, .quota, .serverError(status: 500, ""), .badAnswer(""),
        ]
        for meaning in unknown {
            #expect(meaning.failure(of: "acme:443", changesSomething: true)?.remedy == .unknownOutcome)
            #expect(meaning.failure(of: "acme:443", changesSomething: false)?.remedy == .retry(after: nil))
        }
    }

    @Test func `a server's message is shortened to one line`() throws {
        let long = String(repeating: "very ", count: 100)
        guard case .forbidden(let text) = try read(.json(403, [:], envelope(long + #"\u0007\n"#))) else {
            Issue.record("not classified as 403")
            return
        }
        #expect(text.count <= 201)
        #expect(!text.contains("\n"))
    }
}
