import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

/// Answers with which each service asks for a person's action or for a wait, in its own format.
@Suite(.timeLimit(.minutes(5)), .closing) struct ServiceAnswerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var kind: String
        var status: Int
        var body: String
        /// A part of the failure's message.
        var words = ""
        var fields: [String] = []

        var testDescription: String { "\(kind) \(status) \(body)" }
    }

    private func failure(_ known: Case) async throws -> Failure {
        // Slack's bot comes first in the list, its webhook last.
        let isBot = known.kind == "slack bot"
        let kinds = FaultyAnswerTests.kinds.filter { $0.name == (isBot ? "slack" : known.kind) }
        let kind = try #require(isBot ? kinds.first : kinds.last)
        let head = ["HTTP/1.1 \(known.status) -", "Content-Length: \(known.body.utf8.count)"] + known.fields
        let text = head.joined(separator: "\r\n") + "\r\n\r\n" + known.body
        let address = try await FaultyServer.serve(.given, bytes: Array(text.utf8))
        let failure = try await SampleDelivery.failure(
            of: SampleDelivery.notify(SampleMessage.full), over: kind.name, kind.settings(address))
        return try #require(failure)
    }

    @Test(arguments: [
        Case(kind: "slack bot", status: 200, body: #"{"ok":false,"error":"invalid_auth"}"#, words: "Install the app again"),
        Case(
            kind: "slack bot", status: 200, body: #"{"ok":false,"error":"restricted_action_read_only_channel"}"#,
            words: "the bot may not do this"),
        Case(kind: "slack bot", status: 200, body: #"{"ok":false,"error":"is_archived"}"#, words: "the channel is gone"),
        Case(kind: "slack", status: 403, body: "action_prohibited", words: "create a new webhook"),
        Case(kind: "slack", status: 403, body: "team_disabled", words: "create a new webhook"),
        Case(kind: "slack", status: 403, body: "posting_to_general_channel_denied", words: "create a new webhook"),
        Case(kind: "slack", status: 403, body: "invalid_token", words: "does not accept the token"),
        Case(kind: "slack", status: 404, body: "no_service", words: "create a new webhook"),
        Case(kind: "slack", status: 404, body: "channel_not_found", words: "nothing at this address"),
        Case(kind: "slack", status: 410, body: "channel_is_archived", words: "channel_is_archived"),
        Case(
            kind: "mattermost", status: 400,
            body: #"{"id":"web.incoming_webhook.invalid.app_error","message":"Invalid webhook."}"#,
            words: "the webhook was deleted"),
        Case(
            kind: "mattermost", status: 501, body: #"{"id":"web.incoming_webhook.disabled.app_error","message":"Disabled."}"#,
            words: "turned off on this server"),
        Case(
            kind: "mattermost", status: 403, body: #"{"id":"web.incoming_webhook.permissions.app_error","message":"No."}"#,
            words: "may not write to the channel"),
        // Newer versions name no cause.
        Case(
            kind: "mattermost", status: 400, body: #"{"id":"web.incoming_webhook.general.app_error","message":"Failed."}"#,
            words: "the webhook was deleted, or its channel was archived"),
        Case(
            kind: "mattermost", status: 501, body: #"{"id":"web.incoming_webhook.general.app_error","message":"Failed."}"#,
            words: "turned off on this server"),
        Case(
            kind: "mattermost", status: 403, body: #"{"id":"web.incoming_webhook.general.app_error","message":"Failed."}"#,
            words: "may not write to the channel"),
        Case(
            kind: "googlechat", status: 403, body: #"{"error":{"code":403,"status":"PERMISSION_DENIED"}}"#,
            words: "Create a new webhook"),
        Case(
            kind: "googlechat", status: 400,
            body: #"{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            words: "Create a new webhook"),
        Case(
            kind: "telegram", status: 400,
            body: #"{"ok":false,"error_code":400,"description":"Bad Request: message thread not found"}"#,
            words: "chat or topic: "),
        Case(
            kind: "telegram", status: 400, body: #"{"ok":false,"error_code":400,"description":"Bad Request: TOPIC_CLOSED"}"#,
            words: "TOPIC_CLOSED"),
        Case(
            kind: "telegram", status: 400,
            body:
                #"{"ok":false,"error_code":400,"description":"Bad Request: not enough rights to send text messages to the chat"}"#,
            words: "not enough rights"),
        Case(
            kind: "discord", status: 400, body: #"{"code":220001,"message":"Webhooks posted to forum channels must have …"}"#,
            words: "Set `channel: forum`."),
        Case(
            kind: "discord", status: 400,
            body: #"{"code":220003,"message":"Webhooks can only create threads in forum channels"}"#,
            words: "Set `channel: text`."),
        Case(
            kind: "discord", status: 400,
            body: #"{"code":40067,"message":"A tag is required to create a forum post in this channel"}"#,
            words: "takes no post without a tag"),
        Case(
            kind: "matrix", status: 403, body: #"{"errcode":"M_USER_SUSPENDED","error":"Suspended"}"#, words: "write anything: "),
        Case(
            kind: "matrix", status: 403, body: #"{"errcode":"M_RESOURCE_LIMIT_EXCEEDED","error":"Too many users"}"#,
            words: "write anything: "),
        Case(
            kind: "telegram", status: 400, body: #"{"ok":false,"error_code":400,"description":"Bad Request: CHAT_RESTRICTED"}"#,
            words: "CHAT_RESTRICTED"),
        Case(kind: "opsgenie", status: 402, body: #"{"message":"Not in your plan"}"#, words: "the account's plan"),
        Case(kind: "pagerduty", status: 400, body: "Invalid routing key", words: "does not accept the routing key"),
        Case(
            kind: "pagerduty", status: 400,
            body: #"{"status":"invalid event","errors":["Length of 'routing_key' is incorrect (should be 32 characters)"]}"#,
            words: "does not accept the routing key"),
        Case(kind: "webhook", status: 410, body: "", words: "nothing at this address (any more)."),
        Case(
            kind: "webhook", status: 308, body: "", words: "a redirect to new.example:443;",
            fields: ["Location: https://new.example/hooks/x"]),
        Case(kind: "slack", status: 301, body: "", words: "configure the new address."),
    ])
    func `an answer that only a person can resolve pauses the receiver and says what to do`(_ known: Case) async throws {
        let failure = try await failure(known)
        #expect(failure.remedy == .pauseReceiver, "\(failure)")
        #expect(failure.message.contains(known.words) && failure.message.hasSuffix("."), "\(failure.message)")
    }

    @Test(arguments: [
        Case(kind: "slack bot", status: 200, body: #"{"ok":false,"error":"msg_blocks_too_long"}"#),
        Case(kind: "slack", status: 400, body: "invalid_payload"), Case(kind: "slack", status: 403, body: "no"),
        Case(kind: "mattermost", status: 400, body: #"{"id":"web.incoming_webhook.text.app_error","message":"No text."}"#),
        Case(kind: "googlechat", status: 400, body: #"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#),
        Case(
            kind: "telegram", status: 400, body: #"{"ok":false,"error_code":400,"description":"Bad Request: message is empty"}"#),
        Case(kind: "discord", status: 400, body: #"{"code":50035,"message":"Invalid Form Body"}"#),
        Case(kind: "pagerduty", status: 400, body: #"{"status":"invalid event","errors":["'payload.summary' is missing"]}"#),
        Case(kind: "webhook", status: 302, body: "", fields: ["Location: https://new.example/hooks/x"]),
    ])
    func `a message refused for its content is given up without a pause`(_ known: Case) async throws {
        let failure = try await failure(known)
        #expect(failure.remedy == .giveUp, "\(failure)")
        #expect(failure.message.hasSuffix("."), "\(failure.message)")
    }

    @Test func `Opsgenie's rate period is used only after a 429 without Retry-After`() async throws {
        func remedy(_ status: Int, _ fields: String...) async throws -> Failure.Remedy {
            let period = ["X-RateLimit-Period-In-Sec: 60"]
            return try await failure(Case(kind: "opsgenie", status: status, body: "", fields: period + fields)).remedy
        }
        #expect(try await remedy(429) == .rest(.seconds(60)))
        #expect(try await remedy(429, "Retry-After: 3") == .rest(.seconds(3)))
        #expect(try await remedy(503) == .retry(after: nil))
        #expect(try await remedy(500) == .retry(after: nil))
    }

    /// Some services state their rate limit in every answer.
    @Test(arguments: [500, 502, 503, 408]) func `X-RateLimit-Reset delays a retry only after a 429`(_ status: Int) async throws {
        let fields = ["X-RateLimit-Remaining: 4999", "X-RateLimit-Reset: 3600"]
        let failure = try await failure(Case(kind: "webhook", status: status, body: "", fields: fields))
        #expect(failure.remedy == .retry(after: nil), "\(failure)")
        let refused = try await self.failure(Case(kind: "webhook", status: 429, body: "", fields: fields))
        #expect(refused.remedy == .rest(.seconds(3600)))
        let busy = try await self.failure(Case(kind: "webhook", status: 503, body: "", fields: ["Retry-After: 7"]))
        #expect(busy.remedy == .rest(.seconds(7)))
    }
}
