import BellhopCore

// The admin endpoint's JSON.

extension SimulatedTask {
    var json: JSON {
        .object(.init(fields.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) }))
    }
}

extension SimulatedUser {
    var json: JSON {
        [
            "sys_id": .string(id), "user_name": .string(userName), "name": .string(name), "email": .string(email),
            "active": .bool(isActive), "language": .string(language.rawValue), "utc_offset": .int(utcOffset),
            "may_use_tracker": .bool(mayUseTracker), "tasks": .string(tasks.rawValue), "journal": .string(journal.rawValue),
            "users": .string(users.rawValue), "work_notes": .string(workNotes.rawValue), "comments": .string(comments.rawValue),
            "updates": .string(updates.rawValue), "creates": .string(creates.rawValue),
            "attachments": .string(attachments.rawValue), "hidden_fields": .array(hiddenFields.sorted().map(JSON.string)),
            "read_only_fields": .array(readOnlyFields.sorted().map(JSON.string)), "roles": .array(roles.map(JSON.string)),
            "time_zone": .string(timeZone),
        ]
    }
}

extension JournalEntry {
    var json: JSON {
        [
            "sys_id": .string(id), "task": .string(task), "kind": .string(kind.rawValue), "text": .string(text),
            "by": .string(author), "at": .string(CivilTime.text(time)), "micros": .int(time),
        ]
    }
}

extension ReceivedMessage {
    var json: JSON {
        let head: JSON.Object = [
            "receiver": .string(receiver), "status": .int(status),
            "reason": .optional(reason),
        ]
        return .object(head.adding(request.json(withBody: true).asObject ?? [:]))
    }
}
