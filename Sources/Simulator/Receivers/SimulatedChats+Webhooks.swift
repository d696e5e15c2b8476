import BellhopCore

// Webhooks of Mattermost, Google Chat and Teams, and Slack's Web API. Sources: their references, and Alertmanager's receivers.
extension SimulatedChats.State {
    /// `/mattermost/hooks/{id}`. The id of an error is the same for most causes, as in newer versions.
    mutating func mattermost(_ call: ChatCall) throws(Refusal) -> Reply {
        func refusal(_ status: Int, _ id: String, _ message: String) -> Refusal {
            Refusal(status, ["id": .string(id), "message": .string(message), "status_code": .int(Int64(status))])
        }
        switch call.fault {
        case .tooManyRequests(let seconds)?:
            throw Refusal(Reply.text(429, "limit exceeded").with("Retry-After", String(Int(seconds.rounded(.up)))))
        case .revoked?:
            throw refusal(400, "web.incoming_webhook.general.app_error", "Failed to handle the payload of an incoming webhook.")
        case .noChat?:
            throw refusal(404, "web.incoming_webhook.general.app_error", "Failed to handle the payload of an incoming webhook.")
        case .hiddenError?: return .html(200, "<html><body>Sign in</body></html>")
        case nil: break
        }
        guard call.request.method == "POST", call.path.count == 2, call.path[0] == "hooks" else {
            throw refusal(404, "api.context.404.app_error", "Sorry, we could not find the page.")
        }
        let body = try call.body(or: refusal(400, "web.incoming_webhook.parse.app_error", "Unable to parse incoming data."))
        let text = body["text"]?.asString ?? ""
        guard !text.isEmpty || body["attachments"] != nil else {
            throw refusal(400, "web.incoming_webhook.text.app_error", "No text specified.")
        }
        guard text.unicodeScalars.count <= 16_383 else {
            throw refusal(
                400, "api.post.create_post.message_too_long", "Post Message property is longer than the maximum permitted length."
            )
        }
        add(call, place: call.path[1], id: "mm\(next())", body)
        return .text(200, "ok")
    }

    /// `/googlechat/v1/spaces/{space}/messages?key=…&token=…`.
    mutating func googleChat(_ call: ChatCall) throws(Refusal) -> Reply {
        func refusal(_ status: Int, _ name: String, _ message: String) -> Refusal {
            Refusal(status, ["error": ["code": .int(Int64(status)), "message": .string(message), "status": .string(name)]])
        }
        switch call.fault {
        case .tooManyRequests?: throw refusal(429, "RESOURCE_EXHAUSTED", "Quota exceeded.")
        case .revoked?: throw refusal(403, "PERMISSION_DENIED", "The API is called without a valid token.")
        case .noChat?: throw refusal(404, "NOT_FOUND", "Requested entity was not found.")
        case .hiddenError?: return .json(200, [:])
        case nil: break
        }
        guard call.request.method == "POST", call.path.count == 4, call.path[1] == "spaces", call.path[3] == "messages" else {
            throw refusal(404, "NOT_FOUND", "Method not found.")
        }
        guard call.request.parameter("key") != nil, call.request.parameter("token") != nil else {
            throw refusal(401, "UNAUTHENTICATED", "The caller does not have permission.")
        }
        let body = try call.body(or: refusal(400, "INVALID_ARGUMENT", "Invalid JSON payload received."))
        for name in body.asObject?.keys ?? [] where !["text", "cardsV2", "thread", "markupSyntax"].contains(name) {
            throw refusal(400, "INVALID_ARGUMENT", "Invalid JSON payload received. Unknown name \"\(name)\".")
        }
        if let syntax = body["markupSyntax"]?.asString, !["MARKUP_SYNTAX_MARKDOWN", "MARKUP_SYNTAX_CHAT"].contains(syntax) {
            throw refusal(400, "INVALID_ARGUMENT", "Invalid value at 'message.markup_syntax'.")
        }
        guard let text = body["text"]?.asString, !text.isEmpty else {
            throw refusal(400, "INVALID_ARGUMENT", "Message cannot be empty.")
        }
        guard call.request.body.count <= 32_000, text.unicodeScalars.count <= 4096 else {
            throw refusal(400, "INVALID_ARGUMENT", "Message is too long.")
        }
        let space = call.path[2]
        let answers = call.request.parameter("messageReplyOption")?.hasPrefix("REPLY_MESSAGE") ?? false
        let key = body["thread"]?["threadKey"]?.asString
        let id = "spaces/\(space)/messages/\(next())"
        add(call, place: space, thread: answers ? key : nil, id: id, body)
        return .json(200, ["name": .string(id), "thread": ["name": .string("spaces/\(space)/threads/\(key ?? id)")]])
    }

    /// `/teams/workflows/{id}`. A workflow answers an accepted message with an empty 202, also one that is too large to be posted.
    mutating func teams(_ call: ChatCall) throws(Refusal) -> Reply {
        func refusal(_ status: Int, _ code: String, _ message: String) -> Refusal {
            Refusal(status, ["error": ["code": .string(code), "message": .string(message)]])
        }
        switch call.fault {
        case .tooManyRequests(let seconds)?:
            let reply = refusal(429, "TooManyRequests", "Rate limit is exceeded.").reply
            throw Refusal(reply.with("Retry-After", String(Int(seconds.rounded(.up)))))
        case .revoked?:
            throw refusal(
                401, "DirectApiAuthorizationRequired", "The request must be authenticated only by Shared Access scheme.")
        case .noChat?: throw refusal(400, "WorkflowTriggerIsNotEnabled", "Could not execute workflow trigger: it is disabled.")
        case .hiddenError?:
            return .text(
                200,
                "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId x.")
        case nil: break
        }
        let body = try call.body(or: refusal(400, "InvalidRequestContent", "The request content is not valid JSON."))
        guard body["type"] == "message", let card = body["attachments"]?[0]?["content"],
            body["attachments"]?[0]?["contentType"] == "application/vnd.microsoft.card.adaptive", card["type"] == "AdaptiveCard"
        else { throw refusal(400, "TriggerInputSchemaMismatch", "The input does not match the schema.") }
        for element in card["body"]?.asArray ?? [] {
            guard let type = element["type"]?.asString,
                ["TextBlock", "RichTextBlock", "FactSet", "Container", "ColumnSet", "Image"].contains(type)
            else { throw refusal(400, "BadCard", "An unknown element.") }
            if type == "RichTextBlock", element["inlines"]?.asArray?.isEmpty ?? true {
                throw refusal(400, "BadCard", "No inlines.")
            }
        }
        for action in card["actions"]?.asArray ?? [] {
            guard ["Action.OpenUrl", "Action.ShowCard", "Action.ToggleVisibility"].contains(action["type"]?.asString ?? "") else {
                throw refusal(400, "BadCard", "An unsupported action.")
            }
        }
        // Teams counts the card as a text inside its own JSON.
        if JSON.string(card.text).encoded().count <= 28_000 {
            add(call, place: call.path.last ?? "", id: "teams\(next())", body)
        }
        return Reply(202)
    }

    /// `/slack/api/{method}`. The channel C404 does not exist, and C403 takes no replies. Everything is answered with 200, but for too
    /// many requests.
    mutating func slack(_ call: ChatCall) throws(Refusal) -> Reply {
        func refusal(_ error: String) -> Refusal { Refusal(200, ["ok": false, "error": .string(error)]) }
        switch call.fault {
        case .tooManyRequests(let seconds)?:
            let reply = Reply.json(429, ["ok": false, "error": "ratelimited"])
            throw Refusal(reply.with("Retry-After", String(Int(seconds.rounded(.up)))))
        case .revoked?: throw refusal("token_revoked")
        case .noChat?: throw refusal("channel_not_found")
        case .hiddenError?: throw refusal("internal_error")
        case nil: break
        }
        guard call.path.count == 2, call.path[0] == "api" else { throw refusal("unknown_method") }
        guard let token = call.request.header("Authorization"), token.hasPrefix("Bearer xox") else { throw refusal("not_authed") }
        if call.path[1] == "auth.test" { return .json(200, ["ok": true, "user": "bellhop", "team": "Acme"]) }
        let body = try call.body(or: refusal("invalid_json"))
        guard let channel = body["channel"]?.asString else { throw refusal("channel_not_found") }
        guard channel.hasPrefix("C"), channel != "C404" else { throw refusal("channel_not_found") }
        do { try SlackRules.check(call.request.body) } catch {
            throw Refusal(
                200,
                ["ok": false, "error": .string(error.code), "response_metadata": ["messages": [.string(error.reason)]]])
        }
        switch call.path[1] {
        case "chat.postMessage":
            if channel == "C403", body["thread_ts"] != nil { throw refusal("restricted_action_non_threadable_channel") }
            // A reply to a deleted message is shown in the channel.
            let thread = body["thread_ts"]?.asString.flatMap { find("slack", channel, $0) == nil ? nil : $0 }
            let stamp = "\(call.request.time / 1_000_000).\(String(1_000_000 + next()).dropFirst())"
            add(call, place: channel, thread: thread, id: stamp, body)
            var message: JSON.Object = ["ts": .string(stamp)]
            if let thread { message["thread_ts"] = .string(thread) }
            return .json(
                200, ["ok": true, "channel": .string(channel), "ts": .string(stamp), "message": .object(message)])
        case "chat.update":
            // A new message may have ten times as much.
            guard (body["text"]?.asString ?? "").utf8.count <= 4000 else { throw refusal("msg_too_long") }
            guard let ts = body["ts"]?.asString, edit(call, place: channel, id: ts, body) else {
                throw refusal("message_not_found")
            }
            return .json(200, ["ok": true, "channel": .string(channel), "ts": .string(ts)])
        default: throw refusal("unknown_method")
        }
    }
}
