"""What is public: names and bounds, costs, plans, and how each is written."""
