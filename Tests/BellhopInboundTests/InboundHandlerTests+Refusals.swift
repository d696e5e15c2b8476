import BellhopCore
import BellhopTesting
import Crypto
import Testing

@testable import BellhopInbound

/// Requests that are refused, and the limits of known and unknown senders.
extension `Inbound requests` {
    /// The answer that refuses a request before its body is read; nil if the body is read.
    func refusal(
        _ handler: InboundHandler, _ method: String = "POST", _ path: String = "/in/snow", token: String = "token",
        headers: [(String, String)] = [], announced: Int? = nil
    ) -> InboundAnswer? {
        let all = [("Authorization", "Bearer " + token)] + headers
        let head = InboundRequest(headers: all.map { (name: $0.0, value: $0.1) }, body: [])
        do throws(InboundAnswer) {
            _ = try handler.admit(method: method, path: path, head: head, announced: announced)
            return nil
        } catch {
            if error.status == 429 { #expect(error.retryAfter != nil) }
            return error
        }
    }

    /// The status of a push that is admitted and answered.
    private func push(_ handler: InboundHandler) async -> Int {
        #expect(refusal(handler) == nil)
        let answer = await answer(handler, "", to: "/in/snow")
        #expect((answer.status == 429) == (answer.retryAfter != nil))
        return answer.status
    }

    @Test func `a refused sender is asked for the password or the token that it needs`() {
        func challenge(_ key: InboundKey) -> String? {
            var endpoint = InboundEndpoint.push
            endpoint.key = key
            return refusal(recorder.handler(endpoint), token: "other")?.challenge
        }
        #expect(challenge(.basic(username: "ada", password: "x")) == #"Basic realm="Bellhop""#)
        #expect(challenge(.bearer(["token"])) == #"Bearer realm="Bellhop""#)
        #expect(challenge(.standardWebhooks([[1]])) == nil)
    }

    @Test func `an unknown path, a wrong method and an announced size over the limit are refused before the body is read`() {
        let handler = recorder.handler(.push)
        #expect(refusal(handler, "POST", "/in")?.status == 404)
        #expect(refusal(handler, "GET")?.status == 405)
        #expect(refusal(handler, announced: 101)?.status == 413)
        #expect(refusal(handler, announced: 100) == nil)
    }

    @Test func `each refused request to the path of a source is reported once, and no other request`() async {
        var asking = InboundEndpoint.push
        (asking.path, asking.key) = ("/in/asking", .basic(username: "ada", password: "x"))
        let handler = recorder.handler(.events(), .push, asking)
        #expect(await answer(handler, #"{"service": "mail"}"#).status == 202)
        #expect(await answer(handler, "{}", to: "/in/other").status == 404)
        #expect(refusal(handler, "POST", "/in")?.status == 404)
        // Some senders send their password only when they are asked for it. No sender waits so with a token.
        let head = InboundRequest(headers: [], body: [])
        #expect(throws: InboundAnswer.self) {
            _ = try handler.admit(method: "POST", path: "/in/asking", head: head, announced: nil)
        }
        #expect(recorder.refused == [])
        #expect(throws: InboundAnswer.self) {
            _ = try handler.admit(method: "POST", path: "/in/deploys", head: head, announced: nil)
        }
        #expect(refusal(handler, "POST", "/in/asking")?.status == 401)
        #expect(await answer(handler, "{").status == 400)
        #expect(await answer(handler, "{}", token: "old").status == 401)
        #expect(refusal(handler, "GET")?.status == 405)
        #expect(refusal(handler, announced: 101)?.status == 413)
        handler.replaceKey(of: "/in/deploys", with: nil)
        #expect(await answer(handler, "{}").status == 503)
        #expect(
            recorder.refused == [
                "deploys 401", "my-work 401", "deploys 400", "deploys 401", "my-work 405", "my-work 413", "deploys 503",
            ])
    }

    @Test func `a sender above its rate is asked to retry, and refused requests do not count against the rate`() async {
        let clock = TestClock()
        let handler = recorder.handler(.push, clock: clock)
        for _ in 0..<10 { #expect(refusal(handler, announced: 101)?.status == 413) }
        for _ in 0..<5 { #expect(await push(handler) == 202) }
        #expect(await push(handler) == 429)
        await clock.advance(by: .seconds(1))
        #expect(await push(handler) == 202)
        #expect(await push(handler) == 429)
    }

    @Test func `requests of unknown senders do not count against the rate of a known sender`() async throws {
        let handler = recorder.handler(.push)
        for _ in 0..<100 {
            #expect(refusal(handler, token: "tokem")?.status == 401)
            #expect(refusal(handler, "GET")?.status == 405)
        }
        for _ in 0..<5 { #expect(await push(handler) == 202) }
        #expect(await push(handler) == 429)
    }

    @Test func `requests with wrong signatures do not count against the rate of a known sender`() async throws {
        let check = SignatureCheck(keys: [[1, 2, 3]], header: "X-Signature")
        let endpoint = InboundEndpoint(
            path: "/in/snow", key: .signature(check), purpose: .push(source: "my-work"), rate: Rate(count: 2, per: .seconds(60)))
        let handler = recorder.handler(endpoint)
        func status(_ code: [UInt8]) async -> Int {
            let headers = [("X-Signature", Hexadecimal.text(code))]
            #expect(refusal(handler, headers: headers) == nil)
            return await answer(handler, "x", to: "/in/snow", headers: headers).status
        }
        for _ in 0..<100 { #expect(await status([UInt8](repeating: 7, count: 32)) == 401) }
        let code = Array(HMAC<SHA256>.authenticationCode(for: Array("x".utf8), using: SymmetricKey(data: [1, 2, 3] as [UInt8])))
        #expect([await status(code), await status(code), await status(code)] == [202, 202, 429])
    }

    @Test func `a request whose head shows that it is unsigned or old is refused before its body is read`() async throws {
        let check = SignatureCheck(
            keys: [[1]], header: "X-Signature", timestamp: .init(.header("X-Time"), signed: "{timestamp}.{body}"))
        let clock = TestClock()
        for (key, fields) in [
            (InboundKey.signature(check), ("X-Signature", "X-Time", "X-Other")),
            (.standardWebhooks([[1]]), ("webhook-signature", "webhook-timestamp", "webhook-id")),
        ] {
            let handler = recorder.handler(
                InboundEndpoint(
                    path: "/in/snow", key: key, purpose: .push(source: "my-work"), rate: Rate(count: 5, per: .seconds(5))),
                clock: clock)
            let now = clock.now.microseconds / 1_000_000
            #expect(refusal(handler)?.status == 401)
            #expect(refusal(handler, headers: [(fields.0, "00"), (fields.2, "x")])?.status == 401)
            #expect(refusal(handler, headers: [(fields.0, "00"), (fields.1, "\(now - 301)"), (fields.2, "x")])?.status == 401)
            #expect(refusal(handler, headers: [(fields.0, "00"), (fields.1, "\(now)"), (fields.2, "x")]) == nil)
        }
    }

    @Test func `requests of unknown senders are limited for the whole server, and do not affect known senders`() async throws {
        let clock = TestClock()
        let handler = recorder.handler(.push, .events(), unknownSenders: Rate(count: 3, per: .seconds(3)), clock: clock)
        #expect(refusal(handler, token: "no")?.status == 401)
        #expect(refusal(handler, "POST", "/nothing")?.status == 404)
        #expect(await answer(handler, "{}", token: "no").status == 401)
        #expect(refusal(handler, token: "no")?.status == 429)
        #expect(refusal(handler, "POST", "/nothing")?.status == 429)
        #expect(await answer(handler, "{}", token: "no").status == 429)
        #expect(refusal(handler) == nil)
        #expect(await answer(handler, #"{"service": "a"}"#).status == 202)
        await clock.advance(by: .seconds(1))
        #expect([refusal(handler, token: "no")?.status, refusal(handler, token: "no")?.status] == [401, 429])
    }
}
