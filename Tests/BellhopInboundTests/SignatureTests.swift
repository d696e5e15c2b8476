import BellhopCore
import BellhopTesting
import Crypto
import Testing

@testable import BellhopInbound

/// Signatures as the services make them, with the examples of their own documentation.
@Suite struct `Authentication of senders` {
    /// The status of a request; nil if it is accepted.
    private func refusal(
        _ key: InboundKey, _ headers: [(String, String)], _ body: String, at now: Int64 = 1_767_603_600
    ) -> Int? {
        let request = InboundRequest(headers: headers.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8))
        do throws(InboundAnswer) {
            try key.check(request, at: Timestamp(seconds: now))
            return nil
        } catch { return error.status }
    }

    @Test func `a header field that is missing or given twice is named in the answer`() {
        let signature = InboundKey.signature(
            SignatureCheck(keys: [[1]], header: "X-Sign", timestamp: .init(.header("X-Time"), signed: "{timestamp}{body}")))
        for (key, names) in [
            (signature, ["X-Sign", "X-Time"]),
            (.standardWebhooks([[1]]), ["webhook-id", "webhook-timestamp", "webhook-signature"]),
            (.bearer(["token"]), ["Authorization"]), (.basic(username: "ada", password: "x"), ["Authorization"]),
        ] {
            for name in names {
                for (count, problem) in [(0, "missing"), (2, "given more than once")] {
                    let others = names.filter { $0 != name }.map { (name: $0, value: "1767603600") }
                    let wrong = [name, name.lowercased()].prefix(count).map { (name: $0, value: "1767603600") }
                    #expect(throws: InboundAnswer(401, "The header field `\(name)` is \(problem).")) {
                        try key.check(InboundRequest(headers: others + wrong, body: []), at: Timestamp(seconds: 1_767_603_600))
                    }
                }
            }
        }
    }

    /// docs.github.com, "Validating webhook deliveries": the test values.
    @Test func `a signature of GitHub is accepted, and any other refused`() {
        let key = InboundKey.signature(
            SignatureCheck(keys: [Array("It's a Secret to Everybody".utf8)], header: "X-Hub-Signature-256", prefix: "sha256="))
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        #expect(refusal(key, [("X-Hub-Signature-256", signature)], "Hello, World!") == nil)
        #expect(refusal(key, [("x-hub-signature-256", signature)], "Hello, World!") == nil)
        #expect(refusal(key, [("X-Hub-Signature-256", signature)], "Hello, World?") == 401)
        #expect(refusal(key, [("X-Hub-Signature-256", String(signature.dropLast()))], "Hello, World!") == 401)
        #expect(refusal(key, [("X-Hub-Signature-256", String(signature.dropFirst(7)))], "Hello, World!") == 401)
        #expect(refusal(key, [("X-Hub-Signature-256", "sha256=")], "Hello, World!") == 401)
        #expect(refusal(key, [], "Hello, World!") == 401)
        #expect(refusal(key, [("X-Hub-Signature-256", signature), ("X-Hub-Signature-256", signature)], "Hello, World!") == 401)
    }

    @Test func `one of several signatures of PagerDuty must be right`() {
        let key = InboundKey.signature(
            SignatureCheck(keys: [Array("secret".utf8)], header: "X-PagerDuty-Signature", prefix: "v1="))
        let code = HMAC<SHA256>.authenticationCode(for: Array("{}".utf8), using: SymmetricKey(data: Array("secret".utf8)))
        let (right, other) = ("v1=" + Hexadecimal.text(Array(code)), "v1=" + String(repeating: "0", count: 64))
        for signatures in [right, "\(other),\(right)", "\(right), \(other)"] {
            #expect(refusal(key, [("X-PagerDuty-Signature", signatures)], "{}") == nil)
        }
        for signatures in [other, "\(other),\(other)", "\(other),v2=\(right.dropFirst(3))", ","] {
            #expect(refusal(key, [("X-PagerDuty-Signature", signatures)], "{}") == 401)
        }
    }

    /// api.slack.com, "Verifying requests from Slack": the example.
    @Test func `a signature of Slack is accepted while it is fresh`() {
        let key = InboundKey.signature(
            SignatureCheck(
                keys: [Array("8f742231b10e8888abcd99yyyzzz85a5".utf8)], header: "X-Slack-Signature", prefix: "v0=",
                timestamp: .init(.header("X-Slack-Request-Timestamp"), signed: "v0:{timestamp}:{body}")))
        let body =
            "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
        let signature = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
        func headers(_ time: String) -> [(String, String)] {
            [("X-Slack-Signature", signature), ("X-Slack-Request-Timestamp", time)]
        }
        #expect(refusal(key, headers("1531420618"), body, at: 1_531_420_618) == nil)
        #expect(refusal(key, headers("1531420618"), body, at: 1_531_420_618 + 300) == nil)
        #expect(refusal(key, headers("1531420618"), body, at: 1_531_420_618 + 301) == 401)
        #expect(refusal(key, headers("1531420618"), body, at: 1_531_420_618 - 301) == 401)
        #expect(refusal(key, headers("1531420619"), body, at: 1_531_420_618) == 401)
        #expect(refusal(key, headers("soon"), body, at: 1_531_420_618) == 401)
        #expect(refusal(key, [("X-Slack-Signature", signature)], body, at: 1_531_420_618) == 401)
    }

    /// docs.stripe.com, "Verify webhook signatures": the form of the header; several `v1` while a secret is replaced.
    @Test func `a signature of Stripe is accepted, even beside other signatures`() {
        let body = #"{"id":"evt_1"}"#
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("1767603600.\(body)".utf8), using: SymmetricKey(data: Array("whsec_test".utf8)))
        let hex = code.map { (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
        let key = InboundKey.signature(
            SignatureCheck(
                keys: [Array("whsec_old".utf8), Array("whsec_test".utf8)], header: "Stripe-Signature", prefix: "v1=",
                timestamp: .init(.element("t="), signed: "{timestamp}.{body}")))
        let other = String(repeating: "0", count: 64)
        #expect(refusal(key, [("Stripe-Signature", "t=1767603600,v1=\(hex),v0=\(other)")], body) == nil)
        #expect(refusal(key, [("Stripe-Signature", "t=1767603600, v1=\(other), v1=\(hex)")], body) == nil)
        #expect(refusal(key, [("Stripe-Signature", "t=1767603600,v0=\(hex)")], body) == 401)
        #expect(refusal(key, [("Stripe-Signature", "v1=\(hex)")], body) == 401)
        #expect(refusal(key, [("Stripe-Signature", "t=1767603600,t=1767603600,v1=\(hex)")], body) == 401)
        #expect(refusal(key, [("Stripe-Signature", "t=1767603601,v1=\(hex)")], body) == 401)
    }

    /// The vector of the specification's libraries.
    @Test func `a signature of Standard Webhooks is accepted with each secret in use`() throws {
        let secret = try #require(Base64.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", padding: .required))
        let key = InboundKey.standardWebhooks([Array(repeating: 1, count: 24), secret])
        func headers(_ signature: String, id: String = "msg_p5jXN8AQM9LWM0D4loKWxJek") -> [(String, String)] {
            [("webhook-id", id), ("webhook-timestamp", "1614265330"), ("webhook-signature", signature)]
        }
        let body = #"{"test": 2432232314}"#
        let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        #expect(refusal(key, headers(signature), body, at: 1_614_265_330) == nil)
        #expect(refusal(key, headers("v1a,AAAA v1,AAAA \(signature)"), body, at: 1_614_265_330) == nil)
        #expect(refusal(key, headers(signature, id: "msg_other"), body, at: 1_614_265_330) == 401)
        #expect(refusal(key, headers("v2" + signature.dropFirst(2)), body, at: 1_614_265_330) == 401)
        #expect(refusal(key, headers(signature), body, at: 1_614_265_631) == 401)
        #expect(refusal(key, headers(signature), body + " ", at: 1_614_265_330) == 401)
        #expect(refusal(key, [], body, at: 1_614_265_330) == 401)
    }

    /// RFC 2202 and RFC 4231, test case 2.
    @Test(
        arguments: [
            (.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
            (.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
            (
                .sha512,
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737"
            ),
        ] as [(SignatureCheck.Algorithm, String)])
    func `a signature of each algorithm is accepted in its encoding, and refused in the other or for another body`(
        _ algorithm: SignatureCheck.Algorithm, _ hex: String
    ) throws {
        let base64 = Base64.encode(try #require(Hexadecimal.bytes(hex)))
        for (encoding, right, wrong) in [(SignatureCheck.Encoding.hex, hex, base64), (.base64, base64, hex)] {
            var check = SignatureCheck(keys: [Array("Jefe".utf8)], header: "X-Sign")
            (check.algorithm, check.encoding) = (algorithm, encoding)
            #expect(refusal(.signature(check), [("X-Sign", right)], "what do ya want for nothing?") == nil)
            #expect(refusal(.signature(check), [("X-Sign", wrong)], "what do ya want for nothing?") == 401)
            #expect(refusal(.signature(check), [("X-Sign", right)], "what do ya want for something?") == 401)
        }
    }

    @Test func `thousands of signatures of a large body cost little more than one`() {
        let key = InboundKey.standardWebhooks([Array(repeating: 1, count: 24)])
        let body = String(repeating: "x", count: 1_000_000)
        func time(of signatures: Int) -> Duration {
            let codes = Array(repeating: "v1,AA==", count: signatures).joined(separator: " ")
            let headers = [("webhook-id", "a"), ("webhook-timestamp", "1767603600"), ("webhook-signature", codes)]
            return ThreadTime.shortest { #expect(refusal(key, headers, body) == 401) }
        }
        let (one, many) = (time(of: 1), time(of: 2000))
        #expect(many < one * 50, "\(one), \(many)")
    }

    @Test func `a bearer token and a password must match completely`() {
        let bearer = InboundKey.bearer(["old", "a-token"])
        #expect(refusal(bearer, [("Authorization", "Bearer a-token")], "") == nil)
        #expect(refusal(bearer, [("authorization", "bearer old")], "") == nil)
        for wrong in ["Bearer a-toke", "Bearer a-token2", "Bearer ", "Basic a-token", "a-token", ""] {
            #expect(refusal(bearer, [("Authorization", wrong)], "") == 401)
        }
        let basic = InboundKey.basic(username: "ada", password: "s:ecret")
        #expect(refusal(basic, [("Authorization", "Basic YWRhOnM6ZWNyZXQ=")], "") == nil)
        #expect(refusal(basic, [("Authorization", "Basic YWRhOnM6ZWNyZXQ")], "") == 401)
        #expect(refusal(basic, [("Authorization", "Basic YWRhOg==")], "") == 401)
        #expect(refusal(basic, [], "") == 401)
    }
}
