import Testing

/// Secrets that are easy to recognize wherever they appear.
enum Secrets {
    static let password = "canary-password-Zx81"
    static let wrongPassword = "canary-wrong-Qy72"
    /// The secret part of the chat's address.
    static let chatPath = "canary-chat-path-Wv63"
    static let hookToken = "canary-hook-token-Ku54"
    static let clientSecret = "canary-client-secret-Js36"
    /// `whsec_` and Base64, as Standard Webhooks specifies.
    static let signing = "whsec_Y2FuYXJ5LXNpZ25pbmcta2V5LVR0NDUtMDEyMzQ1Njc4OQ=="

    /// Texts that must appear nowhere: the secrets, their Base64 as in Basic authentication, and the part after `whsec_`.
    static let traces = [
        password, wrongPassword, chatPath, hookToken, clientSecret, String(signing.dropFirst(6)),
        "am9obi5kb2U6Y2FuYXJ5LXBhc3N3b3JkLVp4ODE=", "am9obi5kb2U6Y2FuYXJ5LXdyb25nLVF5NzI=",
    ]

    static func environment(address: String, password: String = password) -> [String: String] {
        [
            "PASSWORD": password, "CHAT_URL": "\(address)/hooks/ops/\(chatPath)",
            "HOOK_URL": "\(address)/webhook/hook?token=\(hookToken)", "SIGNING": signing, "CLIENT_SECRET": clientSecret,
        ]
    }

    /// Records an issue for each secret in a text.
    static func check(_ text: some StringProtocol, in place: String, sourceLocation: SourceLocation) {
        for trace in traces where text.contains(trace) {
            Issue.record("the secret \(trace) is in \(place)", sourceLocation: sourceLocation)
        }
    }

    /// Records an issue for each secret in a file's bytes.
    static func check(bytes: [UInt8], in place: String, sourceLocation: SourceLocation) {
        // Latin-1 maps each byte to one character, so that no byte can hide its neighbour.
        let text = String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        check(text, in: place, sourceLocation: sourceLocation)
    }
}
