import BellhopCore

/// The page `/simulator/inbox`: alerts, notifications, rooms and mails, as a person would see them.
struct InboxPage {
    let simulation: Simulation

    var html: String {
        PageHTML.page(
            "What arrived",
            [
                PageHTML.section("Alerts", simulation.services.alerts.map(alert)),
                PageHTML.section("Notifications", simulation.services.notifications.map(notification)),
                PageHTML.section("Rooms", simulation.services.events.map(event)),
                PageHTML.section("Mail", simulation.mail.received.map(mail)),
            ])
    }

    private func alert(_ alert: SimulatedAlert) -> String {
        let first = alert.messages.first ?? .null
        let title = first["payload"]?["summary"]?.asString ?? first["message"]?.asString ?? ""
        let level = first["payload"]?["severity"]?.asString ?? first["priority"]?.asString ?? ""
        let details = first["payload"]?["custom_details"] ?? first["details"] ?? .null
        let more = alert.messages.count > 1 ? ", \(alert.messages.count) messages" : ""
        return PageHTML.article(
            title, "\(alert.pager), \(level), \(alert.condition.rawValue)\(more), key \(alert.key)",
            (first["description"]?.asString.map(PageHTML.frame) ?? "") + PageHTML.pre(details.text(.pretty)),
            isClosed: alert.condition == .closed)
    }

    private func notification(_ notification: SimulatedNotification) -> String {
        let message = notification.message
        let click = message["click"]?.asString.map { ", opens \($0)" } ?? ""
        let words = notification.isAttachment ? "You received a file: attachment.txt" : message["message"]?.asString ?? ""
        return PageHTML.article(
            message["title"]?.asString ?? "",
            "topic \(message["topic"]?.asString ?? ""), priority \(message["priority"]?.asInt ?? 3)\(click)", PageHTML.pre(words))
    }

    private func event(_ event: SimulatedRoomEvent) -> String {
        let relation = event.content["m.relates_to"]?["rel_type"]?.asString ?? ""
        let content = event.content["m.new_content"] ?? event.content
        return PageHTML.article(
            "", "\(event.room) \(event.id) \(relation)", PageHTML.frame(content["formatted_body"]?.asString ?? ""))
    }

    private func mail(_ mail: ReceivedMail) -> String {
        let envelope = "from \(mail.sender) to \(mail.recipients.joined(separator: ", "))"
        guard let read = try? MIMEReader(mail.bytes), let subject = try? read.subject, let html = try? read.html else {
            return PageHTML.article("", envelope, PageHTML.pre(mail.text))
        }
        return PageHTML.article(subject, envelope, PageHTML.frame(html))
    }
}
