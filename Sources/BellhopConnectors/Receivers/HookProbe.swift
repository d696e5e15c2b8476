import BellhopCore

/// A harmless request that shows whether a service accepts a connection's settings, without a message.
struct HookProbe: Sendable {
    /// The checked thing, in a word or two: `token`, `channel`.
    var subject: String
    var request: HTTPRequest
    var remedy: String?
    /// Sums up an answer with a successful status in a few words, such as `bot @bellhop`. Throws if the answer reports an error.
    var read: @Sendable (HTTPResponse) throws(Failure) -> String

    /// - Parameter hook: sends the request, and keeps secrets out of messages.
    func finding(over hook: Hook, at now: Timestamp) async -> Finding {
        do throws(Failure) {
            let response = try await hook.send(request, expecting: .success, at: now)
            return Finding(subject, .ok, DisplayText.line(try read(response)))
        } catch {
            return Finding(subject, error, remedy: remedy)
        }
    }
}
