extension Simulation {
    /// Fills ETO's services, the Mobile Foundation runtime and the JSON API with data: an account at ETO with two enterprises, a
    /// client with two adapters, and a few issues.
    ///
    /// - Parameters:
    ///   - account: the e-mail address of the account at ETO.
    ///   - password: its password.
    ///   - secret: the secret of the client `bellhop` of Mobile Foundation.
    public func addOtherSystems(account: String, password: String, secret: String) {
        eto.addAccount(account, password: password)
        eto.addEnterprise(
            .init(
                "9f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f0", "Shelter Network",
                sites: [.init(77, "North", programs: [.init(1, "Intake"), .init(2, "Housing")]), .init(78, "South")]))
        eto.addEnterprise(.init("1f1c2d3e-4b5a-6978-8796-a5b4c3d2e1f1", "Other House", sites: [.init(5, "Only")]))
        eto.addTouchPoint(14, "Visit")
        eto.addResponse(touchPoint: 14, subject: 501, program: 1, elements: [(1006, #""first visit""#)])
        mobileFoundation.addClient("bellhop", secret: secret, scopes: ["orders"])
        mobileFoundation.addAdapter(
            "orders",
            .init(scopes: ["orders"]) { _ in
                .init(body: #"[{"id": 1, "title": "Beds", "state": "open"}, {"id": 2, "title": "Blankets", "state": "sent"}]"#)
            })
        mobileFoundation.addAdapter(
            "Feed",
            .init(isJavaScript: true) { _ in .init(body: #"{"isSuccessful": true, "items": [{"id": "a", "title": "News"}]}"#) })
        for title in ["Door stuck", "Lamp broken"] { api.add(title) }
    }
}
