import BellhopCore
import Testing

@testable import BellhopConnectors

struct WebhookSignerTests {
    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    @Test func `the example in the specification has the signature given there`() throws {
        let headers = try WebhookSigner(secret: Self.secret).headers(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: Array(#"{"test": 2432232314}"#.utf8), at: Timestamp(seconds: 1_614_265_330))
        #expect(headers["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek")
        #expect(headers["webhook-timestamp"] == "1614265330")
        #expect(headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test(arguments: [
        "", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_!!!!", "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    ])
    func `an invalid secret is refused without showing it`(_ text: String) {
        let problem = #expect(throws: InvalidValue.self) { try WebhookSigner(secret: text) }
        #expect(problem?.message.contains("c2hvcnQ") == false)
    }

    @Test func `a secret has at most 64 bytes`() throws {
        _ = try WebhookSigner(secret: "whsec_" + Base64.encode([UInt8](repeating: 7, count: 64)))
        #expect(throws: InvalidValue.self) {
            try WebhookSigner(secret: "whsec_" + Base64.encode([UInt8](repeating: 7, count: 65)))
        }
    }
}
