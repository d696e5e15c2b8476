/// The rules that come with Bellhop, embedded in the program.
enum ShippedRules {
    struct File {
        var name: String
        var text: String
        var isTest: Bool { name.hasSuffix(".test.yaml") }
        /// The name of the rule's file; for tests, of the rule that they test.
        var ruleName: String { isTest ? name.replacing(".test.yaml", with: ".yaml") : name }
    }

    static var all: [File] {
        [
            file("acknowledge-new-incidents.yaml", PackageResources.acknowledge_new_incidents_yaml),
            file("acknowledge-new-incidents.test.yaml", PackageResources.acknowledge_new_incidents_test_yaml),
            file("alert-chat-on-new-task.yaml", PackageResources.alert_chat_on_new_task_yaml),
            file("alert-chat-on-new-task.test.yaml", PackageResources.alert_chat_on_new_task_test_yaml),
            file("alert-on-dead-delivery.yaml", PackageResources.alert_on_dead_delivery_yaml),
            file("alert-on-dead-delivery.test.yaml", PackageResources.alert_on_dead_delivery_test_yaml),
            file("alert-on-failed-login.yaml", PackageResources.alert_on_failed_login_yaml),
            file("alert-on-failed-login.test.yaml", PackageResources.alert_on_failed_login_test_yaml),
            file("alert-on-failing-source.yaml", PackageResources.alert_on_failing_source_yaml),
            file("alert-on-failing-source.test.yaml", PackageResources.alert_on_failing_source_test_yaml),
            file("morning-digest.yaml", PackageResources.morning_digest_yaml),
            file("morning-digest.test.yaml", PackageResources.morning_digest_test_yaml),
            file("page-for-unowned-p1.yaml", PackageResources.page_for_unowned_p1_yaml),
            file("page-for-unowned-p1.test.yaml", PackageResources.page_for_unowned_p1_test_yaml),
            file("weekly-review.yaml", PackageResources.weekly_review_yaml),
            file("weekly-review.test.yaml", PackageResources.weekly_review_test_yaml),
        ]
    }

    private static func file(_ name: String, _ bytes: [UInt8]) -> File {
        File(name: name, text: String(decoding: bytes, as: UTF8.self))
    }
}
