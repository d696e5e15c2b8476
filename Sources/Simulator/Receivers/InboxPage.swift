import BellhopCore

/// The page `/simulator/inbox`: alerts, notifications, rooms and mails, as a person would see them.
struct InboxPage {
    let simulation: Simulation

    var html: String {
        """
        <!DOCTYPE html><html><head><meta charset="utf-8"><title>What arrived</title><style>
        body { font-family: sans-serif; max-width: 60em; margin: 2em auto }
        article { border: 1px solid #ccc; border-radius: 4px; padding: 0.5em 1em; margin: 0.5em 0 }
        article.closed { opacity: 0.5 } pre { white-space: pre-wrap } iframe { border: 0; width: 100%; height: 14em }
        small { color: #666 }</style></head><body>
        \(section("Alerts", simulation.services.alerts.map(alert)))
        \(section("Notifications", simulation.services.notifications.map(notification)))
        \(section("Rooms", simulation.services.events.map(event)))
        \(section("Mail", simulation.mail.received.map(mail)))
        </body></html>

        """
    }

    private func section(_ title: String, _ articles: [String]) -> String {
        "<h2>\(title)</h2>\n"
            + (articles.isEmpty ? "<p><small>nothing yet</small></p>" : articles.reversed().joined(separator: "\n"))
    }

    private func alert(_ alert: SimulatedAlert) -> String {
        let first = alert.messages.first ?? .null
        let title = first["payload"]?["summary"]?.asString ?? first["message"]?.asString ?? ""
        let level = first["payload"]?["severity"]?.asString ?? first["priority"]?.asString ?? ""
        let details = first["payload"]?["custom_details"] ?? first["details"] ?? .null
        let more = alert.messages.count > 1 ? ", \(alert.messages.count) messages" : ""
        return article(
            title, "\(alert.pager), \(level), \(alert.condition.rawValue)\(more), key \(alert.key)", pre(details.text(.pretty)),
            isClosed: alert.condition == .closed)
    }

    private func notification(_ notification: SimulatedNotification) -> String {
        let message = notification.message
        let click = message["click"]?.asString.map { ", opens \($0)" } ?? ""
        let words = notification.isAttachment ? "You received a file: attachment.txt" : message["message"]?.asString ?? ""
        return article(
            message["title"]?.asString ?? "",
            "topic \(message["topic"]?.asString ?? ""), priority \(message["priority"]?.asInt ?? 3)\(click)", pre(words))
    }

    private func event(_ event: SimulatedRoomEvent) -> String {
        let relation = event.content["m.relates_to"]?["rel_type"]?.asString ?? ""
        let content = event.content["m.new_content"] ?? event.content
        return article("", "\(event.room) \(event.id) \(relation)", frame(content["formatted_body"]?.asString ?? ""))
    }

    private func mail(_ mail: ReceivedMail) -> String {
        let envelope = "from \(mail.sender) to \(mail.recipients.joined(separator: ", "))"
        guard let read = try? MIMEReader(mail.bytes), let subject = try? read.subject, let html = try? read.html else {
            return article("", envelope, pre(mail.text))
        }
        return article(subject, envelope, frame(html))
    }

    private func article(_ title: String, _ about: String, _ body: String, isClosed: Bool = false) -> String {
        "<article\(isClosed ? " class=\"closed\"" : "")><h3>\(escaped(title))</h3><small>\(escaped(about))</small>\n\(body)</article>"
    }

    private func pre(_ text: String) -> String { "<pre>\(escaped(text))</pre>" }

    /// What others wrote, without scripts and without this page's origin.
    private func frame(_ html: String) -> String { "<iframe sandbox srcdoc=\"\(escaped(html))\"></iframe>" }

    private func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;").replacing(
            "\"", with: "&quot;")
    }
}
