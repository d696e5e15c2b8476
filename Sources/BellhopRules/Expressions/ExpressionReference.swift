/// The names and functions that rules add to the language, for the documentation.
enum ExpressionReference {
    static let names: [(name: String, summary: String)] = [
        ("event", "the whole event: `event.type`, `event.source`, `event.subject`, `event.time`, `event.data`"),
        (
            "events",
            "with `count` or `group`: the events that led to the run, oldest first; with `all` or `sequence`: in the order of the list; each with `task`, `before`, `changes` and `comment`; with a schedule: the latest 1,000 events of the rule's sources since its previous run"
        ),
        ("events_more", "with a schedule: how many earlier events there were since the previous run"),
        (
            "key",
            "with `for`, `count`, `group` or several events: the value of `by`, as text; null without `by` and for an unnamed group"
        ),
        ("since", "with `for`, `count`, `group` or several events: when the waiting, counting or gathering began"),
        ("answered", "in `until` only: whether somebody else than Bellhop has changed or commented the task since the run"),
        ("task", "the task of the event"),
        ("before", "the task as it was; null unless something changed"),
        ("changes", "the changed fields, each with `from` and `to`"),
        ("comment", "the comment, if the event is one"),
        ("tasks", "the tasks of the rule's sources, as they are when the rule runs"),
        ("now", "when the event is routed"),
        ("source", "the name of the event's source"),
        ("rule", "the name of the rule"),
        ("user", "the user whose tasks these are; `check` warns where only the system knows the name, until the first login"),
        ("zone", "the name of the rule's time zone"),
    ]

    static let functions: [(call: String, summary: String)] = [
        ("age(time)", "how long ago it was"),
        ("changed(\"state\")", "whether the field changed"),
        ("changed(\"state\", 1, 2)", "whether it changed from one value to the other, raw or label"),
        ("is_open(\"office\", time)", "whether the calendar is open at that time"),
        ("working_time(\"office\", from, to)", "the working time from one time to another; negative if the other is earlier"),
        ("add_working_time(\"office\", time, duration)", "when that much working time has passed since a time"),
        ("snapshot(\"changes\")", "the tasks of that source, as they are when the rule runs; the name is a literal text"),
        ("label(\"state\")", "the field's label, or its value if it has no label"),
    ]
}
